"""What Kafka's client gave: sorted by split, with event times, ends of partitions taken out."""

from collections.abc import Callable, Mapping
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate_reader.config import Options
from lockgate_reader.kafka.client import KafkaClient
from lockgate_reader.kafka.messages import runs_of, timestamps
from lockgate_reader.reading.fetched import credible
from lockgate_reader.reading.split import Key, OpenSplit

MOST_KEPT = 100_000
"""How many records are kept back at most, over all splits: more of a split is not fetched."""


class Arrivals:
    """Puts fetched messages into their splits. `left_out`: records whose event time did not take
    part. `lost`: splits of which Kafka says that it does not have what is next, each with that
    offset.
    """

    def __init__(self, options: Options, client: KafkaClient, wall_ms: Callable[[], int]) -> None:
        self._event_time = options.event_time
        self._future_ms = options.future_bound_ms
        self._topic = options.topics[0] if len(options.topics) == 1 else None
        self._client, self._wall_ms = client, wall_ms
        self.most_kept = MOST_KEPT
        self.lost: list[tuple[OpenSplit, int]] = []
        self.left_out = 0
        self.fetched = 0

    def take(self, messages: list[Any], splits: Mapping[Key, OpenSplit]) -> list[OpenSplit]:
        """Keep messages in their splits, and return the splits that have changed."""
        if not messages:
            return []
        times = self._times(messages)
        lowest = min(times, default=-1)
        if lowest < 0 and _has_error(messages):
            return self._with_ends(messages, splits)
        changed = []
        for key, start, end in runs_of(messages, self._topic):
            split = splits.get(key)
            if split is not None:  # else it was given back a moment ago
                whole = end - start == len(messages)
                those = (messages, times) if whole else (messages[start:end], times[start:end])
                self._keep(split, *those, all_stamped=lowest >= 0)
                changed.append(split)
        return changed

    def _with_ends(self, messages: list[Any], splits: Mapping[Key, OpenSplit]) -> list[OpenSplit]:
        records = [message for message in messages if not self._client.is_end(message)]
        changed = self.take(records, splits)
        for message in messages:
            split = splits.get((message.topic(), message.partition()))
            if message.error() is None or split is None or message.offset() is None:
                continue
            if self._client.is_lost(message):
                self.lost.append((split, message.offset()))
            else:
                split.end = max(split.end or 0, message.offset())
                changed.append(split)
        return changed

    def _times(self, messages: list[Any]) -> list[int]:
        """Return the event times; empty if the program's function cannot be asked for them, since
        there are errors among the messages.
        """
        if self._event_time is None:
            return timestamps(messages)
        if _has_error(messages):
            return []
        found = map(self._event_time, messages)
        return [NO_TIMESTAMP if time is None else int(time) for time in found]

    def _keep(self, split: OpenSplit, messages: list[Any], times: list[int], *, all_stamped: bool) -> None:
        start, end = split.clip(messages)
        if start or end < len(messages):
            messages, times = messages[start:end], times[start:end]
        if messages:
            latest = None if self._future_ms is None else self._wall_ms() + self._future_ms
            records, left_out = credible(messages, times, latest, all_stamped=all_stamped)
            self.left_out += left_out
            self.fetched += len(messages)
            split.take(records)


def _has_error(messages: list[Any]) -> bool:
    return any(message.error() is not None for message in messages)
