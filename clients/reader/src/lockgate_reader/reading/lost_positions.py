"""Handles positions that Kafka no longer has, and decides where their splits continue.

* *The log now begins after the position:* retention, or a call of `delete_records`, has deleted the
  next records. Records that were fetched before are still returned.
* *The log is a different one:* the topic was created again, or the log was truncated. Fetched
  records are dropped. While the new log ends before the position, Kafka reports an error;
  afterwards, only the topic's id (KIP-516) shows the change.

By default, an error is raised. With auto.offset.reset, reading continues where the log begins or
ends. If the topic was created again, a restart after the error reads it from its first record.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lockgate_reader.clock import monotonic_ms
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.logs import id_of, some
from lockgate_reader.place import NoStartingOffset
from lockgate_reader.reading.split import OpenSplit

log = logging.getLogger("lockgate")

EVERY_MS = 10_000
_DELETED = "retention or delete_records deleted the earlier ones"
_ANEW = "the topic was deleted and created again"
_ANEW_OR_CUT = "the topic was created again, or its log was truncated"
_CHOICE = 'set "auto.offset.reset" in kafka= to "earliest" or "latest" to read on where the log begins or ends'


class LostPositions:
    """Moves splits whose position Kafka no longer has, or raises `NoStartingOffset`. It asks for
    the ids of `topics` every `EVERY_MS`, or every `discovery_ms` if that is shorter and not 0.
    """

    def __init__(self, client: KafkaClient, topics: Sequence[str], discovery_ms: int) -> None:
        self._client, self._topics = client, topics
        self._every_ms = min(EVERY_MS, discovery_ms or EVERY_MS)
        self._ids: dict[str, str] = {}
        self._asked: dict[str, Any] = {}
        self._next_ms = monotonic_ms() + self._every_ms

    def look(self, splits: Iterable[OpenSplit]) -> None:
        """Ask for the topics' ids, and move splits of topics created again, without waiting."""
        now = monotonic_ms()
        if not self._asked and now >= self._next_ms:
            self._asked = self._client.logs.ask_topics(self._topics)
        if self._asked and all(future.done() for future in self._asked.values()):
            asked, self._asked = self._asked, {}
            self._next_ms = now + self._every_ms
            if anew := self.changed(asked):
                self._move([split for split in splits if split.key[0] in anew], _ANEW)

    def changed(self, asked: Mapping[str, Any]) -> list[str]:
        """Wait for the futures in `asked`, and return the topics whose ids have changed."""
        found = {topic: id_of(future) for topic, future in asked.items()}
        known = {topic: name for topic, name in found.items() if name is not None}  # others are asked again later
        anew = [topic for topic, name in known.items() if self._ids.get(topic, name) != name]
        self._ids |= known
        return anew

    def take(self, lost: list[tuple[OpenSplit, int]], splits: Sequence[OpenSplit]) -> None:
        """Move the splits in `lost`, and empty the list. `splits` are all splits of the reader."""
        while lost:
            split, offset = lost.pop()
            self._asked = {}  # an earlier answer would report a new topic a second time
            if self.changed(self._client.logs.ask_topics([split.key[0]])):
                self._move([each for each in splits if each.key[0] == split.key[0]], _ANEW)
                lost[:] = [each for each in lost if each[0].key[0] != split.key[0]]
                continue
            first, _ = self._client.logs.spans([split.key])[split.key]
            self._move([split], _DELETED if offset < first else _ANEW_OR_CUT, offset)

    def _move(self, splits: Sequence[OpenSplit], why: str, offset: int | None = None) -> None:
        """Move splits, whose log has changed because of `why`, to the first offset of their log, or
        to the end if they have begun and auto.offset.reset is "latest". If that is not set, raise
        an error, after the move if the topic was surely created again. `offset` is the lost one.
        """
        logs, reset = self._client.logs.spans([split.key for split in splits]), self._client.reset
        begun = {split.key: split for split in splits if split.position > 0 or split.fetched or why == _DELETED}
        was = some(f"{each.name} at offset {each.position if offset is None else offset}" for each in begun.values())
        now = some("{} up to {}".format(*logs[key]) for key in begun)
        said = f"Kafka no longer has {was}: the log now has the offsets from {now}, because {why}"
        if begun and reset is None and why != _ANEW:
            raise NoStartingOffset(f"{said}; {_CHOICE}")
        starts = {}
        for split in splits:
            first, end = logs[split.key]
            starts[split.key] = start = end if reset == "latest" and split.key in begun else first
            if why != _DELETED:
                split.begin_again(start, end)
            elif not split.fetched:
                split.go_to(start)
        self._client.refetch(starts)
        self._client.pause([split.key for split in splits if split.paused])
        if begun and reset is None:
            raise NoStartingOffset(f"{said}; start again to read the new topic from its first record, or {_CHOICE}")
        if begun:
            log.warning("%s; reading continues at the %s offset (auto.offset.reset)", said, reset)
