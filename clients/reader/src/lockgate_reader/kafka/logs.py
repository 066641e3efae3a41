"""Queries for the partitions of topics, and for the first and last offsets of their logs."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from lockgate_http.errors import KafkaFailed
from lockgate_reader.place import Key

CALL_S = 30.0
AGAIN_S = 0.1
# Keeps librdkafka from printing each refused connection, which is logged once by `error_cb`.
QUIET = {"log_level": 2}
# Passing errors, besides those whose text names the leader, such as "Not leader for partition".
_LATER = (KafkaError.OFFSET_NOT_AVAILABLE, KafkaError._NO_OFFSET)
# The settings that concern connections rather than reading.
_CONNECTING = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl", "client.", "socket.", "broker.", "oauth_cb")
_SPEC: Any = OffsetSpec
LATEST_SPEC = _SPEC.latest()
_NAMED = 5


class Unanswered(KafkaFailed):
    """Raised if Kafka did not answer a query about its topics. A later query may succeed."""


class KafkaLogs:
    """Looks up partitions and offsets in Kafka. Its methods raise `KafkaFailed`.

    `list_topics` is the consumer's own, because this opens the consumer's connections early and
    makes the first fetch about a second faster.
    """

    def __init__(self, kafka: Mapping[str, Any], list_topics: Callable[..., Any]) -> None:
        self._list_topics = list_topics
        self._where = str(kafka["bootstrap.servers"])
        own = {key: value for key, value in kafka.items() if key.startswith(_CONNECTING) or key == "log_level"}
        self._admin = AdminClient({**QUIET, **own})
        self._seen: set[Key] = set()

    def partitions(self, topics: Iterable[str], *, led: bool = False) -> list[Key]:
        """Return the partitions of these topics; with `led`, only those that have a leader."""
        found: list[Key] = []
        for topic in topics:
            with failing(self._where, f"did not list topic {topic!r}", Unanswered):
                metadata = self._list_topics(topic, timeout=CALL_S).topics[topic]
            if metadata.error is not None:
                why = f"has no topic {topic!r} for this client ({metadata.error.str()})"
                raise KafkaFailed(f"Kafka at {self._where} {why}: create it, allow it, or correct the name")
            every = sorted(metadata.partitions.items())
            found += [(topic, partition) for partition, each in every if each.leader >= 0 or not led]
        return found

    def offsets(self, keys: Sequence[Key], *, latest: bool) -> dict[Key, int]:
        """Return each partition's first offset; with `latest`, the offset after its last record."""
        return self._answered(keys, LATEST_SPEC if latest else _SPEC.earliest())

    def offsets_at(self, keys: Sequence[Key], at_ms: int) -> dict[Key, int]:
        """Return the offset of each partition's first record from `at_ms` on; its end if none."""
        ends = self.offsets(keys, latest=True)  # first, so that records that arrive meanwhile are not skipped
        found = self._answered(keys, _SPEC.for_timestamp(at_ms))
        return {key: offset if offset >= 0 else ends[key] for key, offset in found.items()}

    def spans(self, keys: Sequence[Key]) -> dict[Key, tuple[int, int]]:
        firsts, ends = self.offsets(keys, latest=False), self.offsets(keys, latest=True)
        return {key: (first, ends[key]) for key, first in firsts.items()}

    def ask_topics(self, topics: Iterable[str]) -> dict[str, Any]:
        """Request a description of each topic, and return a future (`id_of`) for each."""
        return dict(self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=CALL_S))

    def _answered(self, keys: Sequence[Key], spec: Any) -> dict[Key, int]:
        gives_up = time.monotonic() + CALL_S
        while True:
            try:
                return {key: future.result(CALL_S).offset for key, future in self.ask(keys, spec).items()}
            except (KafkaException, Late) as error:
                cause = error.args[0] if error.args else None
                passes = isinstance(cause, KafkaError) and (cause.code() in _LATER or "leader" in cause.str().lower())
                if not passes or time.monotonic() >= gives_up:
                    raise failed(self._where, "did not list offsets", error) from error
            time.sleep(AGAIN_S)

    def ask(self, keys: Sequence[Key], spec: Any) -> dict[Key, Any]:
        """Request an offset of each partition, and return a future of an `offset` for each."""
        if not keys:
            return {}
        self._learn(keys)
        found = self._admin.list_offsets({TopicPartition(*key): spec for key in keys}, request_timeout=CALL_S)
        return {(each.topic, each.partition): future for each, future in found.items()}

    def _learn(self, keys: Iterable[Key]) -> None:
        """Refresh the admin client's metadata, or it would not know new partitions for minutes."""
        for topic in {key[0] for key in keys if key not in self._seen}:
            with failing(self._where, f"did not list topic {topic!r}"):
                metadata = self._admin.list_topics(topic, timeout=CALL_S).topics[topic]
            self._seen.update((topic, partition) for partition in metadata.partitions)


def failed(where: str, what: str, error: BaseException | KafkaError) -> KafkaFailed:
    return KafkaFailed(f"Kafka at {where} {what}: {said(error)}; see the brokers, and kafka=")


@contextmanager
def failing(where: str, what: str, kind: type[KafkaFailed] = KafkaFailed) -> Iterator[None]:
    """Raise errors of Kafka's client as `kind`, which say what Kafka at the address `where` did."""
    try:
        yield
    except KafkaException as error:
        raise kind(str(failed(where, what, error))) from error


def some(names: Iterable[str]) -> str:
    """Return the first five `names`, with "and more" if there are others."""
    every = list(names)
    return ", ".join(every[:_NAMED]) + (" and more" if len(every) > _NAMED else "")


def id_of(answer: Any) -> str | None:
    """Wait for `answer` of `ask_topics`, and return the topic's id (KIP-516), if there is one."""
    try:
        found = answer.result(CALL_S).topic_id
    except (KafkaException, Late):
        return None
    known = found is not None and (found.get_most_significant_bits() or found.get_least_significant_bits())
    return str(found) if known else None


def said(error: BaseException | KafkaError) -> str:
    """Return the message of an error, or the name of its type if it has none."""
    cause = error.args[0] if isinstance(error, BaseException) and error.args else error
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause) or type(error).__name__
