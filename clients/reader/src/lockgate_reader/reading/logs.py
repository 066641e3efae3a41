"""Watches the logs of partitions: ends that are reached, and positions that Kafka no longer has.

**Ends.** Half a second after Kafka's last answer, the reader asks for the ends of all partitions
without fetched records. An answer counts for the time at which Kafka was asked. A partition is
*quiet* if Kafka neither sends records of it nor confirms its end: its leader does not answer, an
open transaction holds the records back, or Kafka's client no longer fetches it.

**Lost positions** (docs/guide/python-consumers.md). If the log now begins after the position,
records fetched before are still returned. If the log is a different one, they are dropped. While
that log ends before the position, Kafka reports an error; afterwards, only the topic's id (KIP-516)
shows the change.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lockgate.duration import spoken_s
from lockgate.flink.splits import EARLIEST_OFFSET, LATEST_OFFSET
from lockgate_reader.clock import monotonic_ms, wall_clock_ms
from lockgate_reader.kafka import KafkaClient, id_of, some
from lockgate_reader.place import Key, NoStartingOffset
from lockgate_reader.reading.split import OpenSplit

log = logging.getLogger("lockgate")

ENDS_MS, IDS_MS = 500, 10_000  # the pauses between two questions
QUIET_MS = 30_000
OFTEN_MS = 5_000
_DELETED = "retention or delete_records deleted the earlier ones"
_ANEW = "the topic was deleted and created again"
_ANEW_OR_CUT = "the topic was created again, or its log was truncated"
_CHOICE = 'set "auto.offset.reset" in kafka= to "earliest" or "latest" to read on where the log begins or ends'


class Logs:
    """Raises the watermarks of partitions that are read to their ends, where the next record is at
    most `late_ms` old, unless this is None. Moves splits whose position Kafka no longer has. It
    asks for the ids of `topics` every `IDS_MS`, or every `discovery_ms` if that is shorter, not 0.
    """

    def __init__(self, client: KafkaClient, topics: Sequence[str], discovery_ms: int, late_ms: int | None) -> None:
        self._client, self._topics, self._late_ms = client, topics, late_ms
        self._ends: dict[Key, Any] = {}
        self._ends_asked_at = (0, 0)
        self._ends_due = 0
        self._ids: dict[str, str] = {}
        self._ids_asked: dict[str, Any] = {}
        self._ids_every_ms = min(IDS_MS, discovery_ms or IDS_MS)
        self._ids_due = monotonic_ms() + self._ids_every_ms

    def look_for_ends(self, splits: Collection[OpenSplit]) -> None:
        """Pass Kafka's answers to the splits, or ask anew, without waiting. Update watermarks."""
        now = monotonic_ms()
        if self._ends:
            if all(future.done() for future in self._ends.values()):
                for split in splits:
                    future = self._ends.get(split.key)
                    if future is not None and future.exception() is None:
                        split.confirm_end(future.result().offset, self._ends_asked_at)
                self._ends, self._ends_due = {}, now + ENDS_MS
        elif now >= self._ends_due and (keys := [split.key for split in splits if not split.fetched]):
            self._ends_asked_at = (now, wall_clock_ms())
            self._ends = self._client.ask_offsets(keys, LATEST_OFFSET)
        for split in splits:
            if (silence := split.silence(now)) is not None:
                split.watermark.silent(None if self._late_ms is None else silence[1] - self._late_ms - 1)
            split.watermark.emit()

    def refetch_quiet(self, splits: Collection[OpenSplit], now_ms: int, empty_ms: int) -> list[OpenSplit]:
        """Fetch the splits that have been quiet for `QUIET_MS` again, and return them. If the last
        fetch without records, at `empty_ms`, was more than `OFTEN_MS` ago, no split is quiet: its
        records may be queued behind those of others.
        """
        found = []
        for split in splits:
            going = split.fetched or split.paused or split.silence(now_ms)
            if going or split.quiet_since is None or now_ms - empty_ms > OFTEN_MS:
                split.quiet_since = now_ms
            elif now_ms - split.quiet_since >= QUIET_MS:
                found.append(split)
                split.quiet_since = now_ms
        if found:
            self._client.refetch({split.key: split.position for split in found})
            names = some(f"{split.name} at offset {max(0, split.position)}" for split in found)
            said = "Kafka has sent nothing of %s for %s, nor confirmed the end; fetching again. %s"
            log.warning(said, names, spoken_s(QUIET_MS / 1000), "Check its leader, and look for an open transaction")
        return found

    def look_for_new_topics(self, splits: Collection[OpenSplit]) -> None:
        """Ask for the topics' ids, and move splits of topics created again, without waiting."""
        now = monotonic_ms()
        if not self._ids_asked and now >= self._ids_due:
            self._ids_asked = self._client.ask_topics(self._topics)
        if self._ids_asked and all(future.done() for future in self._ids_asked.values()):
            asked, self._ids_asked, self._ids_due = self._ids_asked, {}, now + self._ids_every_ms
            if anew := self.changed(asked):
                self._move([split for split in splits if split.key[0] in anew], _ANEW)

    def changed(self, asked: Mapping[str, Any]) -> list[str]:
        """Wait for the futures in `asked`, and return the topics whose ids have changed."""
        # Others are asked again later.
        known = {topic: name for topic, future in asked.items() if (name := id_of(future)) is not None}
        anew = [topic for topic, name in known.items() if self._ids.get(topic, name) != name]
        self._ids |= known
        return anew

    def move_lost(self, lost: list[tuple[OpenSplit, int]], splits: Collection[OpenSplit]) -> None:
        """Move the splits in `lost`, and empty the list. `splits` are all splits of the reader."""
        while lost:
            split, offset = lost.pop()
            self._ids_asked = {}  # an earlier answer would report a new topic a second time
            if self.changed(self._client.ask_topics([split.key[0]])):
                self._move([each for each in splits if each.key[0] == split.key[0]], _ANEW)
                lost[:] = [each for each in lost if each[0].key[0] != split.key[0]]
                continue
            firsts = self._client.offsets([split.key], EARLIEST_OFFSET)
            self._move([split], _DELETED if offset < firsts[split.key] else _ANEW_OR_CUT, offset)

    def _move(self, splits: Sequence[OpenSplit], why: str, offset: int | None = None) -> None:
        """Move splits, whose log has changed because of `why`, to the first offset of their log, or
        to the end if they have begun and auto.offset.reset is "latest". If that is not set, raise
        an error, after the move if the topic was surely created again. `offset` is the lost one.
        """
        keys, reset = [split.key for split in splits], self._client.reset
        firsts, ends = (self._client.offsets(keys, at) for at in (EARLIEST_OFFSET, LATEST_OFFSET))
        begun = {split.key: split for split in splits if split.position > 0 or split.fetched or why == _DELETED}
        was = some(f"{each.name} at offset {each.position if offset is None else offset}" for each in begun.values())
        now = some(f"{firsts[key]} up to {ends[key]}" for key in begun)
        said = f"Kafka no longer has {was}: the log now has the offsets from {now}, because {why}"
        if begun and reset is None and why != _ANEW:
            raise NoStartingOffset(f"{said}; {_CHOICE}")
        starts = {}
        for split in splits:
            start = starts[split.key] = (ends if reset == "latest" and split.key in begun else firsts)[split.key]
            if why != _DELETED:
                split.begin_again(start, ends[split.key])
            elif not split.fetched:
                split.go_to(start)
        self._client.refetch(starts)
        self._client.pause([split.key for split in splits if split.paused])
        if begun and reset is None:
            raise NoStartingOffset(f"{said}; start again to read the new topic from its first record, or {_CHOICE}")
        if begun:
            log.warning("%s; reading continues at the %s offset (auto.offset.reset)", said, reset)
