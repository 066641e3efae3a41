"""Gives each split its fetched messages, with their event times, and handles errors that Kafka's
client returns as messages.
"""

from collections.abc import Mapping
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate_reader.clock import wall_clock_ms
from lockgate_reader.config import Options
from lockgate_reader.kafka.client import KafkaClient, runs_of, timestamps
from lockgate_reader.place import Key
from lockgate_reader.reading.records import FUTURE_BOUND_MS, FetchedRecords
from lockgate_reader.reading.split import OpenSplit


class Arrivals:
    """Adds fetched messages to their splits. `fetched` counts all records, and `left_out` those
    whose event time is missing or not credible. A split whose next offset Kafka does not have is
    added to `lost`, with that offset.
    """

    def __init__(self, options: Options, client: KafkaClient, lost: list[tuple[OpenSplit, int]]) -> None:
        self._event_time = options.event_time
        self._topic = options.topics[0] if len(options.topics) == 1 else None
        self._client, self._lost = client, lost
        self.left_out = self.fetched = 0

    def take(self, messages: list[Any], splits: Mapping[Key, OpenSplit]) -> list[OpenSplit]:
        """Add `messages` to their `splits`, and return the splits that changed."""
        if not messages:
            return []
        times = timestamps(messages)  # -1 for an error, too
        ordered = sorted(times)  # faster than min() and max() if the times rise
        if ordered[0] < 0 and any(message.error() is not None for message in messages):
            return self._with_ends(messages, splits)
        if self._event_time is not None:
            found = map(self._event_time, messages)
            times = [NO_TIMESTAMP if time is None else int(time) for time in found]
            ordered = sorted(times)
        changed = []
        for key, start, end in runs_of(messages, self._topic):
            split = splits.get(key)
            if split is not None:  # else it was given back a moment ago
                left, until = split.clip(messages, start, end)
                if until - left == len(messages):
                    self._keep(split, messages, times, ordered)
                elif left < until:
                    self._keep(split, messages[left:until], part := times[left:until], sorted(part))
                changed.append(split)
        return changed

    def _with_ends(self, messages: list[Any], splits: Mapping[Key, OpenSplit]) -> list[OpenSplit]:
        changed = self.take([message for message in messages if not self._client.is_end(message)], splits)
        for message in messages:
            split = splits.get((message.topic(), message.partition()))
            if message.error() is None or split is None or message.offset() is None:
                continue
            if self._client.is_lost(message):
                self._lost.append((split, message.offset()))
            else:
                split.end = max(split.end or 0, message.offset())
                changed.append(split)
        return changed

    def _keep(self, split: OpenSplit, messages: list[Any], times: list[int], ordered: list[int]) -> None:
        records = FetchedRecords(messages, times, ordered, wall_clock_ms() + FUTURE_BOUND_MS)
        self.left_out += records.left_out
        self.fetched += len(messages)
        split.take(records)
