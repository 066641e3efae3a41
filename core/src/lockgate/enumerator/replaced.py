"""Readers that others have replaced: under `on_lost_reader: hold` they hold the group no longer.

A lost reader holds its group under `hold`, since nobody else reads what it had not read. That is so
for a Spark query. The splits that an enumerator has given go to the other readers of the source
when the lease is over, and these report where the splits are. The lost reader would hold the group
for ever: a process that is started in its place takes a number that nobody has, mostly another one.

So a lost reader leaves the group as soon as each split that it had is in the hands of a reader that
lives. As long as one waits for a reader, the lost one holds the group, as it should. A split that
is missing waits for none: nobody gets it before a list names it again.

Flink has no such state: a lost subtask is restarted under its own number, or its job fails.
"""

from collections.abc import Iterable

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate.group.reader import ReaderKey
from lockgate.watermark import MAX
from lockgate.wire.events import OnLostReader


def lost_readers(group: Group, source: str) -> list[ReaderKey]:
    """Return the lost readers of this source that hold the group. O(lost readers)."""
    if group.config.on_lost_reader is not OnLostReader.HOLD:
        return []
    return [key for key in group.readers.lost_below(MAX) if key[0] == source]


def replaced(enumerator: Enumerator, lost: Iterable[ReaderKey]) -> list[ReaderKey]:
    """Return those of the `lost` readers that own no split, and whose former splits do not wait
    for a reader. Return none of them while a free split has no former reader, or while no list has
    come since a loss. O(lost + readers + free splits).
    """
    waiting = {split.last for id, split in enumerator.free.items() if id not in enumerator.missing}
    if not enumerator.listed or None in waiting:
        return []
    waiting.update(subtask for subtask, _ in enumerator.readers)
    return [key for key in lost if key[1] not in waiting]
