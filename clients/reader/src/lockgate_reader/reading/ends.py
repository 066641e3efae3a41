"""Watches partitions from which no records arrive.

A lack of records does not prove that a partition is read to its end. So half a second after Kafka's
last answer, the reader asks for the ends of all partitions without fetched records. An answer
counts for the time at which Kafka was asked.

A partition is quiet if Kafka neither sends records of it nor confirms its end: its leader does not
answer, an open transaction holds the records back, or Kafka's client has stopped fetching it after
a change of its leader. Then a warning is logged, and the partition is fetched again. Only time in
which fetches return no records counts, because records may be queued behind those of others.
"""

import logging
from collections.abc import Collection
from typing import Any

from lockgate.duration import spoken_s
from lockgate_reader.clock import monotonic_ms, wall_clock_ms
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.logs import LATEST_SPEC, some
from lockgate_reader.place import Key
from lockgate_reader.reading.split import OpenSplit

log = logging.getLogger("lockgate")

ASK_AGAIN_MS = 500
QUIET_MS = 30_000
OFTEN_MS = 5_000


class Ends:
    """Raises the watermarks of partitions that are read to their ends. The next record of such a
    partition is at most `late_ms` old, unless this is None.
    """

    def __init__(self, client: KafkaClient, late_ms: int | None) -> None:
        self._client, self._late_ms = client, late_ms
        self._asked: dict[Key, Any] = {}
        self._asked_at = (0, 0)
        self._next_ms = 0

    def look(self, splits: Collection[OpenSplit]) -> None:
        """Pass Kafka's answers to the splits, or ask anew, without waiting. Update watermarks."""
        now = monotonic_ms()
        if self._asked:
            if all(future.done() for future in self._asked.values()):
                for split in splits:
                    future = self._asked.get(split.key)
                    if future is not None and future.exception() is None:
                        split.confirm_end(future.result().offset, self._asked_at)
                self._asked = {}
                self._next_ms = now + ASK_AGAIN_MS
        elif now >= self._next_ms and (keys := [split.key for split in splits if not split.fetched]):
            self._asked_at = (now, wall_clock_ms())
            self._asked = self._client.logs.ask(keys, LATEST_SPEC)
        for split in splits:
            until = split.silent_until(now)
            if until is not None:
                split.watermark.silent(None if self._late_ms is None else until - self._late_ms - 1)
            split.watermark.emit()

    def refetch_quiet(self, splits: Collection[OpenSplit], now_ms: int, empty_ms: int) -> list[OpenSplit]:
        """Fetch the splits that have been quiet for `QUIET_MS` again, and return them. If the last
        fetch without records, at `empty_ms`, was more than `OFTEN_MS` ago, no split is quiet.
        """
        found = []
        for split in splits:
            going = split.fetched or split.paused or split.silent_until(now_ms) is not None
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
