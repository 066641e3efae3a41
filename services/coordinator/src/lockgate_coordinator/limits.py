"""Limits on the size of the store and of request bodies, so that no client can slow down all
others. Those on a single group are in `lockgate.group.limits`.
"""

from dataclasses import dataclass

from lockgate.errors import LimitReached
from lockgate.group.limits import GroupLimits


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The limits on a request body. `size` is the maximum number of bytes. `values` is the maximum
    number of commas and opening brackets, which limits the number of JSON values.
    """

    size: int
    values: int

    def has_too_many_values(self, body: bytes) -> bool:
        """Return whether `body` exceeds the limit `values`, without parsing it."""
        return len(body) > self.values and sum(body.count(mark) for mark in (b",", b"{", b"[")) > self.values


@dataclass(frozen=True, slots=True)
class Limits(GroupLimits):
    """The limits of the service. `groups` is the maximum number of groups in the store. `splits`
    limits the splits of a reader, and also those that the coordinator assigns for a source.
    """

    groups: int = 10_000

    @property
    def report_body(self) -> BodyLimit:
        """The limit on bodies that may contain many splits or reports.

        It is at least 4 MiB, and large enough for a reader with `splits` splits, the longest names
        and the longest numbers.
        """
        return BodyLimit(max(4 << 20, 410 * self.splits), max(200_000, 8 * self.splits))

    @property
    def other_body(self) -> BodyLimit:
        """The limit on all other bodies.

        It is at least 512 KiB, and large enough for `sources` expected sources with the longest
        names, and for the longest attributes with every character escaped.
        """
        return BodyLimit(
            max(512 << 10, (64 << 10) + 260 * self.sources + 6 * self.attributes),
            max(20_000, 2 * (self.sources + self.attributes)),
        )

    def check_source_splits(self, source: str, splits: int, before: int) -> None:
        """Raise `LimitReached` if a source with `splits` splits exceeds the limit. After the limit
        is lowered, a source may keep the number of splits that it had (`before`).
        """
        if splits > max(self.splits, before):
            remedy = "divide its topics among sources, or raise --max-partitions"
            raise LimitReached("splits", self.splits, f"source {source!r}", remedy)

    def check_enumerators(self, name: str, sources: int) -> None:
        """Raise `LimitReached` if a group with `sources` enumerators may not have another one."""
        if sources >= self.sources:
            remedy = "delete the group if its sources are no longer used, or raise --max-sources"
            raise LimitReached("sources with splits", self.sources, f"group {name!r}", remedy)

    def check_groups(self, name: str, groups: int) -> None:
        """Raise `LimitReached` if a store with `groups` groups may not get another one."""
        if groups >= self.groups:
            remedy = f"delete unused groups, or raise --max-groups; {name!r} would be one more"
            raise LimitReached("groups", self.groups, "the store", remedy)
