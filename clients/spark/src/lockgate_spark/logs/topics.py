"""Requests the configuration of a source's topics as far as plans depend on it: when a topic is
first seen, and again every few minutes while a plan needs it, because people change it while
queries run.
"""

import logging
from typing import NamedTuple

from lockgate_spark.logs.requests import KafkaRequests

log = logging.getLogger("lockgate")

_GOOD_FOR_MS = 300_000
_KEYS = ("cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type")


class TopicConfig(NamedTuple):
    """The age of a record (ms) and the size of a partition (bytes) beyond which Kafka deletes
    records; None for no limit. `stamped` says whether the broker's clock stamps the records.
    """

    retention_ms: int | None = None
    retention_bytes: int | None = None
    stamped: bool = False


class TopicConfigs:
    """Requests and stores the configurations of one source's topics."""

    def __init__(self, requests: KafkaRequests) -> None:
        self._requests = requests
        self._known: dict[str, TopicConfig] = {}
        self._asked_at = 0  # wall clock in ms
        self._warned: set[str] = set()

    def meet(self, now: int) -> None:
        """Request the configuration of unknown topics, at `now` (wall clock in ms). Log a warning
        if it cannot be read, or if the broker's clock stamps the records.
        """
        if new := {topic_of(split) for split in self._requests.order} - self._known.keys():
            self._ask(new, now)

    def refresh(self, now: int) -> None:
        """Have configurations that are at most five minutes old at `now` (wall clock in ms)."""
        self.meet(now)
        if self._known and now - self._asked_at > _GOOD_FOR_MS:
            self._ask(set(self._known), now)

    def of(self, split: str) -> TopicConfig:
        """Return the last known configuration of a split's topic; without one, no limits."""
        return self._known.get(topic_of(split), TopicConfig())

    def _ask(self, topics: set[str], now: int) -> None:
        if topics >= self._known.keys():  # new topics alone do not put off the request for the others
            self._asked_at = now
        self._known |= dict.fromkeys(topics, TopicConfig())
        for line in self._requests.topic_configs(topics, _KEYS):
            topic, *values = line.split("\t")
            if len(values) != len(_KEYS):
                unknown = f"its configuration cannot be read, so lockgate ignores its retention: {' '.join(values)}"
                self.warn(topic, unknown)
                continue
            policy, ms, size, stamp = values
            limits = (_limit(ms), _limit(size)) if "delete" in policy else (None, None)
            self._known[topic] = TopicConfig(*limits, stamped=stamp == "LogAppendTime")
            if self._known[topic].stamped:
                self.warn(
                    topic,
                    "Kafka stamps its records when they arrive (message.timestamp.type=LogAppendTime), so no old "
                    "record counts as late. To align by the time in the payload, set event_time",
                )

    def warn(self, topic: str, text: str) -> None:
        """Log a warning about a topic, at most one for each topic."""
        if topic not in self._warned:
            self._warned.add(topic)
            log.warning("topic %s: %s", topic, text)


def topic_of(split: str) -> str:
    """Return the topic of a split."""
    return split.rpartition("-")[0]


def _limit(value: str) -> int | None:
    return int(value) if value.lstrip("-").isdigit() and int(value) >= 0 else None
