"""The limits on the size of the store and of bodies, so that no client slows down all others.
`lockgate.group.limits` has the limits on a group.
"""

from dataclasses import dataclass

from lockgate.errors import LimitReached
from lockgate.group.limits import GroupLimits


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The limits on a body: `size` in bytes, and `values`, the most commas and opening brackets."""

    size: int
    values: int

    def has_too_many_values(self, body: bytes) -> bool:
        """Return whether a body has too many values, without parsing it."""
        return len(body) > self.values and sum(body.count(mark) for mark in (b",", b"{", b"[")) > self.values


@dataclass(frozen=True, slots=True)
class Limits(GroupLimits):
    """The limits of the service. `splits` also applies to the splits of a source that the
    coordinator assigns, and `groups` to the groups of the store.
    """

    groups: int = 10_000

    @property
    def report_body(self) -> BodyLimit:
        """The limit on a report, a batch, a progress or an exchange, at least 4 MiB. A reader with
        the most splits, the longest names and the longest numbers fits in.
        """
        return BodyLimit(max(4 << 20, 410 * self.splits), max(200_000, 8 * self.splits))

    @property
    def other_body(self) -> BodyLimit:
        """The limit on all other bodies, at least 512 KiB. The most expected sources with the
        longest names, and the longest attributes with all characters escaped, fit in.
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
        """Raise `LimitReached` if a group with `sources` enumerators may not get another one."""
        if sources >= self.sources:
            remedy = "delete the group if its sources are no longer used, or raise --max-sources"
            raise LimitReached("sources with splits", self.sources, f"group {name!r}", remedy)

    def check_groups(self, name: str, groups: int) -> None:
        """Raise `LimitReached` if a store with `groups` groups may not get another one."""
        if groups >= self.groups:
            remedy = f"delete unused groups, or raise --max-groups; {name!r} would be one more"
            raise LimitReached("groups", self.groups, "the store", remedy)
