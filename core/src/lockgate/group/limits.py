"""Limits on the size of one group, so that no caller uses up resources that all others need.

A command that would exceed a limit is refused. If a limit is lowered, a group that is above it
keeps its readers and splits.
"""

from collections.abc import Collection
from dataclasses import dataclass

from lockgate.errors import LimitReached
from lockgate.group.group import Group
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Limits on the size of a group and of its readers.

    Attributes:
        splits: The maximum number of splits per reader.
        readers: The maximum number of readers per group.
        sources: The maximum number of sources per group, and of sources that it may expect.
        attributes: The maximum size of a reader's owner and attributes together, in UTF-8 bytes.
    """

    splits: int = 10_000
    readers: int = 10_000
    sources: int = 1_000
    attributes: int = 8_192

    def check_config(self, name: str, config: GroupConfig) -> None:
        """Raise `LimitReached` if `config` expects too many sources."""
        if len(config.expected_sources) > self.sources:
            raise LimitReached(
                "sources", self.sources, f"group {name!r}", "expect fewer sources, or raise --max-sources"
            )

    def check_splits(self, source: str, subtask: int, splits: int) -> None:
        """Raise `LimitReached` if `splits`, the reader's number of splits, is too high."""
        if splits > self.splits:
            raise LimitReached(
                "splits",
                self.splits,
                f"reader {subtask} of source {source!r}",
                "spread them over several readers, or raise --max-partitions",
            )

    def check_registration(self, group: Group | None, name: str, source: str, event: ReaderRegistrationEvent) -> None:
        """Raise `LimitReached` if a registration would exceed a limit. `name` is the group's name.

        `group` is None if the registration would create the group.
        """
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

    def check_progress(self, group: Group, source: str, subtask: int, epoch: int, named: Collection[str]) -> None:
        """Raise `LimitReached` if a reader would report too many splits: those of its last report
        in `epoch`, and those in `named`, the names of the splits in the request.
        """
        reported = group.readers[source, subtask].reported
        known = {} if reported is None or reported.epoch != epoch else reported.splits
        self.check_splits(source, subtask, len(known) + sum(name not in known for name in named))
