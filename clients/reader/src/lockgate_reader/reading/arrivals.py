"""What Kafka's client gave: sorted by split, with event times, ends of partitions taken out."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate_reader.config import Options
from lockgate_reader.kafka.client import KafkaClient, one_partition
from lockgate_reader.reading.fetched import credible
from lockgate_reader.reading.split import Key, OpenSplit

MOST_KEPT = 100_000
"""How many records are kept back at most, over all splits: more of a split is not fetched."""


class Arrivals:
    """Puts fetched messages into their splits. `left_out`: records whose event time did not take
    part.
    """

    def __init__(self, options: Options, client: KafkaClient, wall_ms: Callable[[], int]) -> None:
        self._event_time = options.event_time
        self._future_ms = options.future_bound_ms
        self._one_topic = options.topics[0] if len(options.topics) == 1 else None
        self._client, self._wall_ms = client, wall_ms
        self.most_kept = MOST_KEPT
        self.left_out = 0
        self.fetched = 0

    def take(self, messages: list[Any], splits: Mapping[Key, OpenSplit]) -> list[OpenSplit]:
        """Keeps messages in their splits. Returns the splits that have changed."""
        if not messages:
            return []
        times = self._times(messages)
        if times is None:
            return self._with_ends(messages, splits)
        changed = []
        for key, those, when in self._by_split(messages, times):
            split = splits.get(key)
            if split is not None:  # else it was given back a moment ago
                self._keep(split, those, when)
                changed.append(split)
        return changed

    def _with_ends(self, messages: list[Any], splits: Mapping[Key, OpenSplit]) -> list[OpenSplit]:
        records = [message for message in messages if not self._client.is_end(message)]
        changed = self.take(records, splits)
        for message in messages:
            split = splits.get((message.topic(), message.partition()))
            if message.error() is not None and split is not None and message.offset() is not None:
                split.end = max(split.end or 0, message.offset())
                changed.append(split)
        return changed

    def _times(self, messages: list[Any]) -> list[int] | None:
        """The event times; None where there are errors among the messages, which have no time."""
        if self._event_time is None:
            times = [message.timestamp()[1] for message in messages]
            return None if min(times) < 0 and _has_error(messages) else times
        if _has_error(messages):
            return None
        found = map(self._event_time, messages)
        return [NO_TIMESTAMP if time is None else int(time) for time in found]

    def _by_split(self, messages: list[Any], times: list[int]) -> Iterable[tuple[Key, list[Any], list[int]]]:
        topic = self._one_topic
        if topic is not None:
            partition = one_partition(messages)
            if partition is not None:  # the usual case
                return [((topic, partition), messages, times)]
            keys = [(topic, message.partition()) for message in messages]
        else:
            keys = [(message.topic(), message.partition()) for message in messages]
        found: dict[Key, tuple[list[Any], list[int]]] = {}
        for key, message, time in zip(keys, messages, times, strict=True):
            those = found.setdefault(key, ([], []))
            those[0].append(message)
            those[1].append(time)
        return [(key, *those) for key, those in found.items()]

    def _keep(self, split: OpenSplit, messages: list[Any], times: list[int]) -> None:
        start, end = split.clip(messages)
        if start or end < len(messages):
            messages, times = messages[start:end], times[start:end]
        if messages:
            latest = None if self._future_ms is None else self._wall_ms() + self._future_ms
            records, left_out = credible(messages, times, latest)
            self.left_out += left_out
            self.fetched += len(messages)
            split.take(records)


def _has_error(messages: list[Any]) -> bool:
    return any(message.error() is not None for message in messages)
