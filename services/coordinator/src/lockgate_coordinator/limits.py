"""The limits on stored data and on bodies, so that no caller slows down all others.

`lockgate.group.limits` has the limits of one group.
"""

from dataclasses import dataclass

from lockgate.errors import LimitReached
from lockgate.group.limits import GroupLimits


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The limit of a body, as the most bytes (`size`) and the most commas and opening brackets
    (`values`).
    """

    size: int
    values: int

    def has_too_many_values(self, body: bytes) -> bool:
        """Return whether a body has too many values, before it is parsed. Commas and brackets
        within texts count too.
        """
        return len(body) > self.values and sum(body.count(mark) for mark in (b",", b"{", b"[")) > self.values


@dataclass(frozen=True, slots=True)
class Limits(GroupLimits):
    """The limits of the service. `splits` also limits the splits of a source that an enumerator
    assigns, and `groups` limits the groups of the store.
    """

    groups: int = 10_000

    @property
    def report_body(self) -> BodyLimit:
        """The limit for a report, a batch, a progress or an exchange, 4 MiB at least. It fits a
        reader with all its splits, each with the longest name and the longest numbers.
        """
        return BodyLimit(max(4 << 20, 410 * self.splits), max(200_000, 8 * self.splits))

    @property
    def other_body(self) -> BodyLimit:
        """The limit for a configuration or a registration, 512 KiB at least. It fits all expected
        sources with the longest names, and all attributes, even if their characters are escaped.
        """
        return BodyLimit(
            max(512 << 10, (64 << 10) + 260 * self.sources + 6 * self.attributes),
            max(20_000, 2 * (self.sources + self.attributes)),
        )

    def check_source_splits(self, source: str, splits: int, before: int) -> None:
        """Raise `LimitReached` if the source's enumerator would have too many splits."""
        if splits > max(self.splits, before):
            remedy = "divide its topics among sources, or raise --max-partitions"
            raise LimitReached("splits", self.splits, f"source {source!r}", remedy)

    def check_enumerators(self, name: str, sources: int) -> None:
        """Raise `LimitReached` if `sources` enumerators are all that the group may have."""
        if sources >= self.sources:
            remedy = "delete the group if its sources are no longer used, or raise --max-sources"
            raise LimitReached("sources with splits", self.sources, f"group {name!r}", remedy)

    def check_groups(self, name: str, groups: int) -> None:
        """Raise `LimitReached` if `groups` groups are all that the store may have."""
        if groups >= self.groups:
            remedy = f"delete unused groups, or raise --max-groups; {name!r} would be one more"
            raise LimitReached("groups", self.groups, "the store", remedy)
