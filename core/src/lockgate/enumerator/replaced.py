"""Removal of a lost reader from its group, once other readers have taken over its splits.

With `on_lost_reader: hold` a lost reader blocks its group, since no other reader reads the records
that it left unread. That is right for a Spark query. But splits from an enumerator go to other
readers of the source when the lease is over, and the new readers report the splits' watermarks.
The lost reader would still block the group for ever, because a process that replaces it usually has
another subtask number. So a lost reader leaves the group as soon as living readers hold all splits
that it had. Splits that are missing from the last list are ignored, because no reader gets them
until a later list names them.

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
    """Return the `lost` readers that the enumerator has removed, and whose splits have new readers.

    Missing splits are ignored. The result is empty until a list of the splits has come in the
    present history, and while any free split's last reader is unknown. Takes O(lost + readers +
    free splits).
    """
    waiting = {split.last for id, split in enumerator.free.items() if id not in enumerator.missing}
    if not enumerator.listed or None in waiting:
        return []
    waiting.update(subtask for subtask, _ in enumerator.readers)
    return [key for key in lost if key[1] not in waiting]
