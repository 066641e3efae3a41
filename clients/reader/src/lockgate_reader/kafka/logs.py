"""What Kafka has: the partitions of topics, and where their logs begin and end, by the admin
client. Errors are translated. One thread uses it.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata  # type: ignore[attr-defined]

from lockgate_http.errors import KafkaFailed
from lockgate_reader.place import Key

CALL_S = 30.0
AGAIN_S = 0.1
# librdkafka prints each refused connection. Those come by `error_cb` too, and are logged once.
QUIET = {"log_level": 2}
# While a partition gets another leader, and while that one does not know its end yet.
_LATER = (
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError._NO_OFFSET,
)


class Unanswered(KafkaFailed):
    """Kafka has not answered a question about its topics. It may answer the next one."""


class KafkaLogs:
    """An admin client over the settings of a user. Raises `KafkaFailed` from every call.

    `list_topics` is the consumer's: so the consumer has its connections before it fetches, which
    saves it a second.
    """

    def __init__(self, kafka: Mapping[str, Any], list_topics: Callable[..., Any]) -> None:
        self._list_topics = list_topics
        self._where = str(kafka["bootstrap.servers"])
        self._admin = AdminClient({**QUIET, **_of_admin(kafka)})
        self._seen: set[Key] = set()

    def partitions(self, topics: Iterable[str], *, led: bool = False) -> list[Key]:
        """Return the partitions of these topics; with `led` only those that have a leader.

        Raises `KafkaFailed` for a topic that does not exist, and `Unanswered`.
        """
        found: list[Key] = []
        for topic in topics:
            try:
                metadata = self._list_topics(topic, timeout=CALL_S).topics[topic]
            except KafkaException as error:
                raise Unanswered(str(self._failed(f"did not list topic {topic!r}", error))) from error
            if metadata.error is not None:
                raise KafkaFailed(
                    f"Kafka at {self._where} has no topic {topic!r} for this client ({metadata.error.str()}): create "
                    "it, allow it, or correct the name"
                )
            found += [(topic, partition) for partition in partitions_of(metadata, led=led)]
        return found

    def offsets(self, keys: Sequence[Key], *, latest: bool) -> dict[Key, int]:
        """Return the first offset of each partition, or the one behind its last record.

        A partition whose leader is not known yet is asked for again.
        """
        return self._answered(lambda: self.ask_offsets(keys, latest=latest))

    def offsets_at(self, keys: Sequence[Key], at_ms: int) -> dict[Key, int]:
        """Return the offset of each partition's first record with this timestamp or a later one;
        without one, the offset behind its last record.
        """
        spec: Any = OffsetSpec
        ends = self.offsets(keys, latest=True)  # first: what comes meanwhile is not left out
        found = self._answered(lambda: self._ask(keys, spec.for_timestamp(at_ms)))
        return {key: offset if offset >= 0 else ends[key] for key, offset in found.items()}

    def spans(self, keys: Sequence[Key]) -> dict[Key, tuple[int, int]]:
        """Return the first offset of each partition, and the one behind its last record."""
        firsts, ends = self.offsets(keys, latest=False), self.offsets(keys, latest=True)
        return {key: (first, ends[key]) for key, first in firsts.items()}

    def ask_topics(self, topics: Iterable[str]) -> dict[str, Any]:
        """Ask Kafka about each topic, and return futures; `id_of` gives the id in one."""
        return dict(self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=CALL_S))

    def _answered(self, ask: Callable[[], dict[Key, Any]]) -> dict[Key, int]:
        gives_up = time.monotonic() + CALL_S
        while True:
            found = ask()
            try:
                return {key: future.result(CALL_S).offset for key, future in found.items()}
            except (KafkaException, Late) as error:
                if not _is_for_now(error) or time.monotonic() >= gives_up:
                    raise self._failed("did not list offsets", error) from error
            time.sleep(AGAIN_S)

    def ask_offsets(self, keys: Sequence[Key], *, latest: bool) -> dict[Key, Any]:
        """As `offsets`, as futures: for the high watermark, whatever the isolation level."""
        spec: Any = OffsetSpec
        return self._ask(keys, spec.latest() if latest else spec.earliest())

    def _ask(self, keys: Sequence[Key], spec: Any) -> dict[Key, Any]:
        if not keys:
            return {}
        self._learn(keys)
        found = self._admin.list_offsets({TopicPartition(*key): spec for key in keys}, request_timeout=CALL_S)
        return {(each.topic, each.partition): future for each, future in found.items()}

    def _learn(self, keys: Iterable[Key]) -> None:
        """Let the admin client look at topics anew that have partitions which it has not seen: by
        itself it says for minutes that there are none such.
        """
        for topic in {key[0] for key in keys if key not in self._seen}:
            try:
                metadata = self._admin.list_topics(topic, timeout=CALL_S).topics[topic]
            except KafkaException as error:
                raise self._failed(f"did not list topic {topic!r}", error) from error
            self._seen.update((topic, partition) for partition in metadata.partitions)

    def _failed(self, what: str, error: BaseException) -> KafkaFailed:
        return failed(self._where, what, error)


def failed(where: str, what: str, error: BaseException) -> KafkaFailed:
    """Return the error that says what Kafka at `where` did, or did not."""
    return KafkaFailed(f"Kafka at {where} {what}: {said(error)}; see the brokers, and kafka=")


def partitions_of(metadata: TopicMetadata, *, led: bool) -> list[int]:
    """Return the partitions of a topic; with `led` only those that have a leader now."""
    return [partition for partition, each in sorted(metadata.partitions.items()) if each.leader >= 0 or not led]


def id_of(answer: Any) -> str | None:
    """Return the unique id of a topic (KIP-516), once the answer is there.

    None if Kafka does not give it, or has no ids, as before 2.8.
    """
    try:
        found = answer.result(CALL_S).topic_id
    except (KafkaException, Late):
        return None
    known = found is not None and (found.get_most_significant_bits() or found.get_least_significant_bits())
    return str(found) if known else None


def said(error: BaseException) -> str:
    """Return the words of an error."""
    cause = error.args[0] if error.args else error
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause) or type(error).__name__


def _is_for_now(error: BaseException) -> bool:
    cause = error.args[0] if error.args else None
    return isinstance(cause, KafkaError) and (cause.code() in _LATER or "leader" in str(cause.str()).lower())


def _of_admin(kafka: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the connection, without those of reading."""
    prefixes = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl", "client.", "socket.", "broker.", "oauth_cb")
    return {key: value for key, value in kafka.items() if key.startswith(prefixes) or key == "log_level"}
