"""Handles positions that Kafka no longer has, and decides where their splits continue.

A split can lose its position in two ways.

* *Its log now begins after the position.* Retention, or a call of `delete_records`, has deleted the
  next records. Records that were fetched before are still valid, and are returned.
* *Its log is a different one.* The topic was deleted and created again under its name, or the log
  was truncated. The record at the position, now or later, is not the next one, and records below it
  were never read. While the log is shorter than the position, Kafka reports this itself. Once it is
  longer, only the topic's id shows it (`topic_ids`). Fetched records belong to the former log, and
  are dropped.

In both cases records are lost, and the user's auto.offset.reset decides what happens, like
failOnDataLoss in Spark: an error, which is the default, or reading on where the log begins or ends.

A split of a topic that was created again is moved to the first record even if this is an error. A
consumer that resumes from its position then reads the new topic from its beginning.
"""

import logging
from collections.abc import Iterable, Sequence

from lockgate_reader.errors import NoStartingOffset
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.reading.split import OpenSplit
from lockgate_reader.reading.topic_ids import TopicIds

log = logging.getLogger("lockgate")

_NAMED = 5
_DELETED = "retention or delete_records deleted the earlier ones"
_ANEW = "the topic was deleted and created again"
_ANEW_OR_CUT = "the topic was created again, or its log was truncated"
_CHOICE = 'set "auto.offset.reset" in kafka= to "earliest" or "latest" to read on where the log begins or ends'


class LostPositions:
    """Moves splits whose position is lost, or raises `NoStartingOffset`."""

    def __init__(self, client: KafkaClient, ids: TopicIds) -> None:
        self._client, self._ids = client, ids

    def begin(self) -> None:
        """Fetch the ids of the topics. Must be called before the first split is opened."""
        self._ids.begin()

    def look(self, splits: Iterable[OpenSplit]) -> None:
        """Check whether topics were created again, and start their splits again if so."""
        anew = self._ids.look()
        if anew:
            self._begin_again([split for split in splits if split.key[0] in anew], sure=True)

    def take(self, lost: list[tuple[OpenSplit, int]], splits: Sequence[OpenSplit]) -> None:
        """Move each split in `lost` and empty the list. Each comes with the offset at which Kafka
        has nothing. `splits` are all open splits.
        """
        while lost:
            split, offset = lost.pop()
            if self._ids.is_another(split.key[0]):
                self._begin_again([each for each in splits if each.key[0] == split.key[0]], sure=True)
                lost[:] = [each for each in lost if each[0].key[0] != split.key[0]]
                continue
            first, end = self._client.logs.spans([split.key])[split.key]
            if offset < first:
                self._skip(split, offset, first, end)
            else:
                self._begin_again([split], sure=False)

    def _skip(self, split: OpenSplit, offset: int, first: int, end: int) -> None:
        """Continue after the records from `offset` up to `first`, which Kafka has deleted: at
        `first`, or at `end` if auto.offset.reset is "latest". Raises `NoStartingOffset` if it is
        not set.
        """
        said = _lost([(split.name, offset)], [(first, end)], _DELETED)
        if self._client.reset is None:
            raise NoStartingOffset(f"{said}; {_CHOICE}")
        start = first if self._client.reset == "earliest" else end
        if not split.fetched:
            split.go_to(start)
        self._read_from(split, start)
        log.warning("%s; reading continues at offset %d", said, start)

    def _begin_again(self, splits: Sequence[OpenSplit], *, sure: bool) -> None:
        """Move splits to the beginning of their new log. With auto.offset.reset "latest", those
        that had begun are moved to its end. Raises `NoStartingOffset` if a split had begun and
        auto.offset.reset is not set. If `sure`, the topic was created again, and the splits are
        moved before the error is raised. Otherwise, the log may have been truncated, and the error
        leaves the positions unchanged.
        """
        logs = self._client.logs.spans([split.key for split in splits])
        begun = [split for split in splits if split.has_begun]
        why = _ANEW if sure else _ANEW_OR_CUT
        said = _lost([(each.name, each.position) for each in begun], [logs[each.key] for each in begun], why)
        reset = self._client.reset
        if begun and reset is None and not sure:
            raise NoStartingOffset(f"{said}; {_CHOICE}")
        for split in splits:
            first, end = logs[split.key]
            split.begin_again(end if reset == "latest" and split.has_begun else first, end)
            self._read_from(split, split.position)
        if begun and reset is None:
            raise NoStartingOffset(f"{said}; start again to read the new topic from its first record, or {_CHOICE}")
        if begun:
            log.warning(
                "%s; unread records are lost, and reading continues at the %s offset (auto.offset.reset)", said, reset
            )

    def _read_from(self, split: OpenSplit, offset: int) -> None:
        self._client.refetch({split.key: offset})
        if split.paused:
            self._client.pause([split.key])


def _lost(splits: Sequence[tuple[str, int]], logs: Sequence[tuple[int, int]], why: str) -> str:
    """Return a message that says which positions are lost. `splits` are names with their offsets,
    `logs` the first offset and the end of each log, and `why` is the reason.
    """
    was = ", ".join(f"{name} at offset {offset}" for name, offset in splits[:_NAMED])
    now = ", ".join(f"{first} up to {end}" for first, end in logs[:_NAMED])
    more = " and more" if len(splits) > _NAMED else ""
    return f"Kafka no longer has {was}{more}: the log now has the offsets from {now}{more}, because {why}"
