"""How much a group, and the service, may hold: what one caller may cost all others.

A command of the protocol is refused where it would make more. What a group holds already stays:
a lower limit than before refuses only what is new.
"""

from dataclasses import dataclass

from lockgate.errors import LimitReached
from lockgate.group.group import Group
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """The most bytes of a body, `size`, and `values` in it: its commas and opening brackets."""

    size: int
    values: int

    def has_too_many_values(self, body: bytes) -> bool:
        """Return whether a body has too many values, before it is parsed. Commas and brackets
        within texts count too.
        """
        return len(body) > self.values and sum(body.count(mark) for mark in (b",", b"{", b"[")) > self.values


@dataclass(frozen=True, slots=True)
class Limits:
    """`splits` of a reader, and of a source that an enumerator assigns; `readers` and `sources` of
    a group, expected sources included; `groups` of the store; `attributes`: bytes of a reader's
    owner and attributes in UTF-8.
    """

    splits: int = 10_000
    readers: int = 10_000
    sources: int = 1_000
    groups: int = 10_000
    attributes: int = 8_192

    @property
    def report_body(self) -> BodyLimit:
        """Of a report, a batch, a progress, an exchange: what a reader with all its splits needs,
        each under the longest name and with the longest numbers. 4 MiB at least.
        """
        return BodyLimit(max(4 << 20, 410 * self.splits), max(200_000, 8 * self.splits))

    @property
    def other_body(self) -> BodyLimit:
        """Of a configuration or a registration: what all expected sources under the longest names
        and all attributes need, whose characters may be escaped. 512 KiB at least.
        """
        return BodyLimit(
            max(512 << 10, (64 << 10) + 260 * self.sources + 6 * self.attributes),
            max(20_000, 2 * (self.sources + self.attributes)),
        )

    def check_config(self, name: str, config: GroupConfig) -> None:
        """Raise `LimitReached` for a group that expects too many sources."""
        if len(config.expected_sources) > self.sources:
            raise LimitReached(
                "sources", self.sources, f"group {name!r}", "expect fewer sources, or raise --max-sources"
            )

    def check_splits(self, source: str, subtask: int, splits: int) -> None:
        """Raise `LimitReached` for a reader with too many splits."""
        if splits > self.splits:
            raise LimitReached(
                "splits",
                self.splits,
                f"reader {subtask} of source {source!r}",
                "spread them over several readers, or raise --max-partitions",
            )

    def check_source_splits(self, source: str, splits: int, before: int) -> None:
        """Raise `LimitReached` for a source whose enumerator would know too many splits."""
        if splits > max(self.splits, before):
            raise LimitReached(
                "splits",
                self.splits,
                f"source {source!r}",
                "divide its topics among sources, or raise --max-partitions",
            )

    def check_enumerators(self, name: str, sources: int) -> None:
        """Raise `LimitReached` if `sources` of the group have enumerators, and no more may."""
        if sources >= self.sources:
            raise LimitReached(
                "sources with splits",
                self.sources,
                f"group {name!r}",
                "delete the group if its sources are no longer used, or raise --max-sources",
            )

    def check_registration(self, group: Group | None, name: str, source: str, event: ReaderRegistrationEvent) -> None:
        """Raise `LimitReached` for a reader that says too much of itself, or is one too many."""
        if event.config is not None:
            self.check_config(name, event.config)
        texts = (event.owner, *event.attributes, *event.attributes.values())
        if sum(len(text.encode()) for text in texts) > self.attributes:
            raise LimitReached(
                "bytes of owner and attributes",
                self.attributes,
                f"reader {event.subtask} of source {source!r}",
                "send fewer or shorter ones, or raise --max-attributes",
            )
        if group is None or (source, event.subtask) in group.readers:
            return
        if len(group.readers) >= self.readers:
            raise LimitReached(
                "readers", self.readers, f"group {name!r}", "evict readers that are gone, or raise --max-readers"
            )
        if not group.readers.has_source(source) and len(group.readers.sources()) >= self.sources:
            raise LimitReached(
                "sources", self.sources, f"group {name!r}", "evict readers that are gone, or raise --max-sources"
            )

    def check_groups(self, name: str, groups: int) -> None:
        """Raise `LimitReached` if `groups` are there already, and one more may not be."""
        if groups >= self.groups:
            raise LimitReached(
                "groups",
                self.groups,
                "the store",
                f"delete unused groups, or raise --max-groups; {name!r} would be one more",
            )
