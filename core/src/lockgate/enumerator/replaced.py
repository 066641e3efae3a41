"""The rule by which a lost reader leaves its group once other readers have taken over its splits.

With `on_lost_reader: hold` a lost reader blocks its group, since no other reader reads the records
that it left unread. That is right for a Spark query. But splits that an enumerator has assigned go
to the other readers of the source when the lease is over, and these report the splits' watermarks.
The lost reader would still block the group for ever, because a process that replaces it usually has
another subtask number. So a lost reader leaves the group as soon as living readers hold all splits
that it had. Missing splits do not count, because no reader gets them before a list names them
again.

In Flink a lost subtask is restarted under its own number, or its job fails.
"""

from collections.abc import Iterable

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate.group.reader import ReaderKey
from lockgate.group.readers import Ranking
from lockgate.watermark import MAX
from lockgate.wire.events import OnLostReader


def lost_readers(group: Group, source: str) -> list[ReaderKey]:
    """Return the lost readers of this source that block the group. Takes O(lost readers)."""
    if group.config.on_lost_reader is not OnLostReader.HOLD:
        return []
    return [key for key in group.readers.until(Ranking.LOST, MAX) if key[0] == source]


def replaced(enumerator: Enumerator, lost: Iterable[ReaderKey]) -> list[ReaderKey]:
    """Return those of the `lost` readers that the enumerator has removed and whose former splits no
    longer wait for a new reader. Takes O(lost + readers + free splits).

    The result is empty while the former reader of any free split is unknown, and until a list of
    the source's splits has come. After the store has lost data, this has to be a new list.
    """
    waiting = {split.last for id, split in enumerator.free.items() if id not in enumerator.missing}
    if not enumerator.listed or None in waiting:
        return []
    waiting.update(subtask for subtask, _ in enumerator.readers)
    return [key for key in lost if key[1] not in waiting]
