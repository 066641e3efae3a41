"""Handles positions that Kafka no longer has, and decides where their splits continue.

* *The log now begins after the position.* Retention, or a call of `delete_records`, has deleted the
  next records. Records that were fetched before are still valid, and are returned.
* *The log is a different one.* The topic was deleted and created again under its name, or the log
  was truncated. Fetched records belong to the former log, and are dropped. While the new log
  ends before the position, Kafka reports an error. Afterwards, only the topic's id (KIP-516) shows
  the change. A change before the reader started is not detected.

In both cases records are lost, and the user's auto.offset.reset decides what happens, like
failOnDataLoss in Spark: by default, an error is raised; otherwise, reading continues where the log
begins or ends. The splits of a topic that was created again are moved to the first record even if
an error is raised, so that a restart reads the new topic from its beginning.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lockgate_reader.clock import monotonic_ms
from lockgate_reader.errors import NoStartingOffset
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.logs import id_of, some
from lockgate_reader.reading.split import OpenSplit

log = logging.getLogger("lockgate")

EVERY_MS = 10_000
_DELETED = "retention or delete_records deleted the earlier ones"
_ANEW = "the topic was deleted and created again"
_ANEW_OR_CUT = "the topic was created again, or its log was truncated"
_CHOICE = 'set "auto.offset.reset" in kafka= to "earliest" or "latest" to read on where the log begins or ends'


class LostPositions:
    """Moves splits whose position Kafka no longer has, or raises `NoStartingOffset`. Kafka is asked
    for the ids of `topics` every `EVERY_MS`, or every `discovery_ms` if that is shorter and not 0.
    """

    def __init__(self, client: KafkaClient, topics: Sequence[str], discovery_ms: int) -> None:
        self._client, self._topics = client, topics
        self._every_ms = min(EVERY_MS, discovery_ms or EVERY_MS)
        self._ids: dict[str, str] = {}
        self._asked: dict[str, Any] = {}
        self._next_ms = monotonic_ms() + self._every_ms

    def begin(self) -> None:
        self.changed(self._client.logs.ask_topics(self._topics))

    def look(self, splits: Iterable[OpenSplit]) -> None:
        """Request the topics' ids if the interval has passed, without waiting for Kafka. Once the
        answers have arrived, move the splits of topics that were created again.
        """
        now = monotonic_ms()
        if not self._asked and now >= self._next_ms:
            self._asked = self._client.logs.ask_topics(self._topics)
        if self._asked and all(future.done() for future in self._asked.values()):
            asked, self._asked = self._asked, {}
            self._next_ms = now + self._every_ms
            if anew := self.changed(asked):
                self._begin_again([split for split in splits if split.key[0] in anew], sure=True)

    def changed(self, asked: Mapping[str, Any]) -> list[str]:
        """Wait for the futures in `asked`, and return the topics whose ids have changed."""
        found = {topic: id_of(future) for topic, future in asked.items()}
        known = {topic: name for topic, name in found.items() if name is not None}  # others are asked again later
        anew = [topic for topic, name in known.items() if self._ids.get(topic, name) != name]
        self._ids |= known
        return anew

    def take(self, lost: list[tuple[OpenSplit, int]], splits: Sequence[OpenSplit]) -> None:
        """Move the splits in `lost` from the offsets there, which Kafka no longer has, and empty
        the list. `splits` are all splits of the reader.
        """
        while lost:
            split, offset = lost.pop()
            self._asked = {}  # an earlier answer would report a new topic a second time
            if self.changed(self._client.logs.ask_topics([split.key[0]])):
                self._begin_again([each for each in splits if each.key[0] == split.key[0]], sure=True)
                lost[:] = [each for each in lost if each[0].key[0] != split.key[0]]
                continue
            first, end = self._client.logs.spans([split.key])[split.key]
            if offset < first:
                self._skip(split, offset, first, end)
            else:
                self._begin_again([split], sure=False)

    def _skip(self, split: OpenSplit, offset: int, first: int, end: int) -> None:
        """Continue `split`, whose record at `offset` was deleted, where its log begins or ends."""
        said = _lost([(split.name, offset, first, end)], _DELETED)
        if self._client.reset is None:
            raise NoStartingOffset(f"{said}; {_CHOICE}")
        start = first if self._client.reset == "earliest" else end
        if not split.fetched:
            split.go_to(start)
        self._client.refetch({split.key: start})
        if split.paused:
            self._client.pause([split.key])
        log.warning("%s; reading continues at offset %d", said, start)

    def _begin_again(self, splits: Sequence[OpenSplit], *, sure: bool) -> None:
        """Move each split to the first offset of its new log, or to the end of the log if the split
        has begun and auto.offset.reset is "latest".

        If a split has begun and auto.offset.reset is not set, raise an error. Move the splits
        before that, so that a restart reads the new topic, if the topic was surely created again
        (`sure`).
        """
        logs, reset = self._client.logs.spans([split.key for split in splits]), self._client.reset
        begun = [(split.name, split.position, *logs[split.key]) for split in splits if split.has_begun]
        said = _lost(begun, _ANEW if sure else _ANEW_OR_CUT)
        if begun and reset is None and not sure:
            raise NoStartingOffset(f"{said}; {_CHOICE}")
        for split in splits:
            first, end = logs[split.key]
            split.begin_again(end if reset == "latest" and split.has_begun else first, end)
        self._client.refetch({split.key: split.position for split in splits})
        if begun and reset is None:
            raise NoStartingOffset(f"{said}; start again to read the new topic from its first record, or {_CHOICE}")
        if begun:
            log.warning(
                "%s; unread records are lost, and reading continues at the %s offset (auto.offset.reset)", said, reset
            )


def _lost(splits: Sequence[tuple[str, int, int, int]], why: str) -> str:
    """Say that Kafka no longer has the positions of `splits`. Each item has the name and the
    position of a split, and the first offset and the end of its log.
    """
    was = some(f"{name} at offset {offset}" for name, offset, _, _ in splits)
    now = some(f"{first} up to {end}" for _, _, first, end in splits)
    return f"Kafka no longer has {was}: the log now has the offsets from {now}, because {why}"
