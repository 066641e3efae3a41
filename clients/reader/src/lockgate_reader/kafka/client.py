"""Kafka's own client, confluent-kafka, with its errors translated. One thread uses it.

Splits are assigned by name, without a consumer group of Kafka's: the place decides who reads what.
Kafka's group is only where positions are committed.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata  # type: ignore[attr-defined]

from lockgate_http.errors import KafkaFailed
from lockgate_reader.errors import NoStartingOffset
from lockgate_reader.kafka.messages import Key

log = logging.getLogger("lockgate")

_CALL_S = 30.0
_COMMIT_S = 10.0  # for the coordinator of Kafka's group
_LEADER_AGAIN_S = 0.1
_NO_LEADER = (KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError._NO_OFFSET)
_OFFSET_INVALID = -1001
# A position that Kafka does not have is an error: librdkafka would else go on elsewhere without a
# word. `reading.lost_positions` does what the user has said.
_OURS: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
}
_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION)
_EARLIEST, _LATEST = ("earliest", "smallest", "beginning"), ("latest", "largest", "end")
# How much librdkafka fetches ahead of a partition. It drops that where the partition is paused, and
# fetches it again: so less than its own default, 100,000; and it looks sooner than after 1 s
# whether there is room again.
_AHEAD = {"queued.min.messages": 10_000, "fetch.queue.backoff.ms": 10}
# librdkafka prints each refused connection. Those come by `error_cb` too, and are logged once.
_QUIET = {"log_level": 2}
_FATAL = (
    KafkaError._AUTHENTICATION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._MAX_POLL_EXCEEDED,
)


class Unanswered(KafkaFailed):
    """Kafka has not answered a question about its topics. It may answer the next one."""


class KafkaClient:
    """A consumer and an admin client over the settings of a user. `reset`: the user's
    auto.offset.reset, "earliest" or "latest"; None for an error. Raises `KafkaFailed` from every
    call.
    """

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._where = str(kafka["bootstrap.servers"])
        self.reset = _word(kafka.get("auto.offset.reset"))
        self._failure: KafkaError | None = None
        self._troubled = False
        self._group = kafka.get("group.id")
        self._seen: set[Key] = set()
        self.committed_last: dict[Key, int] = {}
        settings = {**_AHEAD, **_QUIET, **kafka, **_OURS}
        settings.setdefault("group.id", "lockgate-reader")  # nothing is committed under this name
        self._tell = settings.pop("error_cb", None)
        settings |= {"error_cb": self._on_error, "on_commit": self._on_commit}
        try:
            self._consumer = Consumer(settings)
            self._admin = AdminClient({**_QUIET, **_of_admin(kafka)})
        except (KafkaException, ValueError, TypeError) as error:
            raise KafkaFailed(f"Kafka's client refuses its settings: {_said(error)}; correct kafka=") from error

    # -- what there is --

    def partitions(self, topics: Iterable[str], *, led: bool = False) -> list[Key]:
        """Return the partitions of these topics; with `led` only those that have a leader.

        Raises `KafkaFailed` for a topic that does not exist, and `Unanswered`.
        """
        found: list[Key] = []
        for topic in topics:
            try:
                metadata = self._consumer.list_topics(topic, timeout=_CALL_S).topics[topic]
            except KafkaException as error:
                raise Unanswered(str(self._failed(f"did not list topic {topic!r}", error))) from error
            if metadata.error is not None:
                raise KafkaFailed(
                    f"Kafka at {self._where} has no topic {topic!r} for this client ({metadata.error.str()}): create "
                    "it, allow it, or correct the name"
                )
            found += [(topic, partition) for partition in partitions_of(metadata, led=led)]
        return found

    def committed(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Return the offsets committed for these partitions, without those that have none."""
        try:
            found = self._consumer.committed([TopicPartition(*key) for key in keys], timeout=_CALL_S)
        except KafkaException as error:
            raise self._failed("did not give committed offsets", error) from error
        for each in found:
            if each.error is not None:
                what = f"did not give the committed offset of {each.topic}-{each.partition}"
                raise self._failed(what, KafkaException(each.error))
        return {(each.topic, each.partition): each.offset for each in found if each.offset != _OFFSET_INVALID}

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

    def logs(self, keys: Sequence[Key]) -> dict[Key, tuple[int, int]]:
        """Return the first offset of each partition, and the one behind its last record."""
        firsts, ends = self.offsets(keys, latest=False), self.offsets(keys, latest=True)
        return {key: (first, ends[key]) for key, first in firsts.items()}

    def ask_topics(self, topics: Iterable[str]) -> dict[str, Any]:
        """Ask Kafka about each topic, and return futures; `id_of` gives the id in one."""
        return dict(self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_CALL_S))

    def _answered(self, ask: Callable[[], dict[Key, Any]]) -> dict[Key, int]:
        gives_up = time.monotonic() + _CALL_S
        while True:
            found = ask()
            try:
                return {key: future.result(_CALL_S).offset for key, future in found.items()}
            except (KafkaException, Late) as error:
                if not _has_no_leader(error) or time.monotonic() >= gives_up:
                    raise self._failed("did not list offsets", error) from error
            time.sleep(_LEADER_AGAIN_S)

    def ask_offsets(self, keys: Sequence[Key], *, latest: bool) -> dict[Key, Any]:
        """As `offsets`, as futures: for the high watermark, whatever the isolation level."""
        spec: Any = OffsetSpec
        return self._ask(keys, spec.latest() if latest else spec.earliest())

    def _ask(self, keys: Sequence[Key], spec: Any) -> dict[Key, Any]:
        if not keys:
            return {}
        self._learn(keys)
        found = self._admin.list_offsets({TopicPartition(*key): spec for key in keys}, request_timeout=_CALL_S)
        return {(each.topic, each.partition): future for each, future in found.items()}

    def _learn(self, keys: Iterable[Key]) -> None:
        """Let the admin client look at topics anew that have partitions which it has not seen: by
        itself it says for minutes that there are none such.
        """
        for topic in {key[0] for key in keys if key not in self._seen}:
            try:
                metadata = self._admin.list_topics(topic, timeout=_CALL_S).topics[topic]
            except KafkaException as error:
                raise self._failed(f"did not list topic {topic!r}", error) from error
            self._seen.update((topic, partition) for partition in metadata.partitions)

    def reset_offsets(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Where to begin what has no committed offset, by the user's auto.offset.reset. Raises
        `NoStartingOffset`.
        """
        if not keys:
            return {}
        if self.reset is not None:
            return self.offsets(keys, latest=self.reset == "latest")
        names = ", ".join(f"{topic}-{partition}" for topic, partition in list(keys)[:5])
        lacks = f"group.id {self._group!r} has committed nothing" if self._group else "starting_offsets has nothing"
        raise NoStartingOffset(
            f"{lacks} for {names}{' and more' if len(keys) > 5 else ''}: set "
            '"auto.offset.reset" in kafka= to "earliest" or "latest", or starting_offsets='
        )

    # -- what is read --

    def assign(self, starts: Mapping[Key, int]) -> None:
        """Read these partitions too, each from its offset on."""
        self._do("assign", [TopicPartition(*key, offset) for key, offset in starts.items()])

    def unassign(self, keys: Iterable[Key]) -> None:
        """Stop reading these partitions."""
        self._do("unassign", [TopicPartition(*key) for key in keys])

    def pause(self, keys: Iterable[Key]) -> None:
        """Stop fetching these partitions for now."""
        self._do("pause", [TopicPartition(*key) for key in keys])

    def resume(self, keys: Iterable[Key]) -> None:
        """Fetch these partitions again, from behind the records that were taken."""
        self._do("resume", [TopicPartition(*key) for key in keys])

    def fetch(self, most: int, timeout_s: float) -> list[Message]:
        """Return the records that are here, at most `most`; wait up to `timeout_s` for the first.

        Ends of partitions come as messages with an error, which `is_end` recognises.
        """
        try:
            found: list[Message] = self._consumer.consume(most, 0)
            if not found and timeout_s > 0:
                first = self._consumer.poll(timeout_s)
                found = [] if first is None else [first, *self._consumer.consume(most, 0)]
        except (KafkaException, RuntimeError) as error:
            raise self._failed("gave no records", error) from error
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise self._failed("refuses this client", KafkaException(failure))
        if found and self._troubled:
            self._troubled = False
            log.warning("Kafka at %s: receiving records again", self._where)
        return found

    def is_end(self, message: Message) -> bool:
        """Return whether a message without a time is no record: the end of its partition, at
        `offset()`, or an error that passes. Raises `KafkaFailed` for one that does not; False for a
        record.
        """
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF or self.is_lost(message):
            return True
        where = f"{message.topic()}-{message.partition()}"
        if error.fatal() or error.code() in _FATAL:
            raise self._failed(f"refuses {where}", KafkaException(error))
        log.warning("Kafka at %s: cannot read %s for now: %s", self._where, where, error.str())
        return True

    def is_lost(self, message: Message) -> bool:
        """Return whether Kafka says that it has nothing at `offset()`, neither a record nor the
        end.
        """
        error = message.error()
        return error is not None and error.code() in _LOST

    # -- what was read --

    def commit(self, positions: Mapping[Key, int], *, wait: bool) -> None:
        """Commit the offsets that have changed since the last commit, or whose commit has failed;
        each is the next one to read, and words are left out. Raises `KafkaFailed` if it is to
        `wait`.
        """
        news = {key: at for key, at in positions.items() if at >= 0 and self.committed_last.get(key) != at}
        if not news:
            return
        offsets = [TopicPartition(*key, offset) for key, offset in news.items()]
        self.committed_last.update(news)
        try:
            if not wait:
                self._consumer.commit(offsets=offsets, asynchronous=True)
                return
            done = self._commit_now(offsets)
        except KafkaException as error:
            self._on_commit(error.args[0], offsets)
            if wait:
                raise self._failed("did not commit", error) from error
            return
        for each in done:
            if each.error is not None:
                self._on_commit(None, done)
                raise self._failed(f"did not commit {each.topic}-{each.partition}", KafkaException(each.error))

    def _commit_now(self, offsets: list[TopicPartition]) -> list[TopicPartition]:
        """Commit, and wait for it. Shortly after its start the client has no coordinator of the
        group yet, and reports so at once.
        """
        gives_up = time.monotonic() + _COMMIT_S
        while True:
            try:
                return self._consumer.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._WAIT_COORD or time.monotonic() >= gives_up:
                    raise
            time.sleep(_LEADER_AGAIN_S)

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    # -- within --

    def _do(self, what: str, partitions: list[TopicPartition]) -> None:
        if not partitions:
            return
        calls = {
            "assign": self._consumer.incremental_assign,
            "unassign": self._consumer.incremental_unassign,
            "pause": self._consumer.pause,
            "resume": self._consumer.resume,
        }
        try:
            calls[what](partitions)
        except KafkaException as error:
            names = ", ".join(f"{each.topic}-{each.partition}" for each in partitions[:5])
            raise self._failed(f"did not {what} {names}", error) from error

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        failed = {(each.topic, each.partition): each.error or error for each in partitions if each.error or error}
        for key in failed:
            self.committed_last.pop(key, None)
        for (topic, partition), why in list(failed.items())[:1]:
            what = f"{topic}-{partition}{' and more' if len(failed) > 1 else ''}"
            log.warning("Kafka at %s did not commit %s: %s", self._where, what, why)

    def _on_error(self, error: KafkaError) -> None:
        if self._tell is not None:
            self._tell(error)
        if error.fatal() or error.code() in _FATAL:
            self._failure = error
        elif not self._troubled:
            self._troubled = True
            log.warning("Kafka at %s: %s", self._where, error.str())

    def _failed(self, what: str, error: BaseException) -> KafkaFailed:
        return KafkaFailed(f"Kafka at {self._where} {what}: {_said(error)}; see the brokers, and kafka=")


def partitions_of(metadata: TopicMetadata, *, led: bool) -> list[int]:
    """Return the partitions of a topic; with `led` only those that have a leader now."""
    return [partition for partition, each in sorted(metadata.partitions.items()) if each.leader >= 0 or not led]


def id_of(answer: Any) -> str | None:
    """Return the unique id of a topic (KIP-516), once the answer is there.

    None if Kafka does not give it, or has no ids, as before 2.8.
    """
    try:
        found = answer.result(_CALL_S).topic_id
    except (KafkaException, Late):
        return None
    known = found is not None and (found.get_most_significant_bits() or found.get_least_significant_bits())
    return str(found) if known else None


def _word(reset: object) -> str | None:
    return "earliest" if reset in _EARLIEST else "latest" if reset in _LATEST else None


def _said(error: BaseException) -> str:
    cause = error.args[0] if error.args else error
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause) or type(error).__name__


def _has_no_leader(error: BaseException) -> bool:
    cause = error.args[0] if error.args else None
    return isinstance(cause, KafkaError) and (cause.code() in _NO_LEADER or "leader" in str(cause.str()).lower())


def _of_admin(kafka: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the connection, without those of reading."""
    prefixes = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl", "client.", "socket.", "broker.", "oauth_cb")
    return {key: value for key, value in kafka.items() if key.startswith(prefixes) or key == "log_level"}
