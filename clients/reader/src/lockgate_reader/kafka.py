"""Kafka's client, confluent-kafka, with its errors translated. Only this module calls it."""

import gc
import logging
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as Late
from functools import partial
from itertools import count, groupby, repeat
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET
from lockgate_http.errors import KafkaFailed
from lockgate_reader.config import EARLIEST, LATEST
from lockgate_reader.place import Key, NoStartingOffset

log = logging.getLogger("lockgate")

T = TypeVar("T")
CALL_S = 30.0
_COMMIT_S = 10.0  # for the coordinator of Kafka's group
_AGAIN_S = 0.1
_LOOK_S, _LOOK_MOST_S = 0.001, 0.005  # the pauses between looks for records
_NAMED = 5
_OFFSET_INVALID = -1001
# Keeps librdkafka from printing each refused connection, which is logged once by `error_cb`.
_QUIET = {"log_level": 2}
# A position that Kafka does not have is an error, because librdkafka would otherwise silently
# continue at another offset. `reading.logs` applies the user's auto.offset.reset.
_OURS: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
}
# In Kafka's group, partitions that stay are read on while others move.
_IN_A_GROUP = {"partition.assignment.strategy": "cooperative-sticky", "topic.metadata.refresh.interval.ms": 60_000}
# How much librdkafka fetches ahead of a partition. It drops these records if the partition is
# paused, so this is less than the default of 100,000. It also checks earlier than after 1 s whether
# there is room again: with 10 ms, a fast program had to wait for records.
AHEAD = {"queued.min.messages": 20_000, "fetch.queue.backoff.ms": 2}
# The settings that concern connections rather than reading.
_CONNECTING = ("bootstrap.", "security.", "sasl.", "ssl.", "enable.ssl", "client.", "socket.", "broker.", "oauth_cb")
_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION)
# Kafka's group is rebalanced, or the leader of a partition catches up.
_PASSING = (
    KafkaError._WAIT_COORD,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError._NO_OFFSET,
)
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
_SPEC: Any = OffsetSpec  # takes a time (ms), LATEST_OFFSET or EARLIEST_OFFSET
LEFT_TO_PYTHON = 50
_collections = count(1)  # of this process

keys, values = partial(map, Message.key), partial(map, Message.value)


class KafkaClient:
    """A Kafka consumer with the user's settings `kafka`, for one thread, and queries for topics and
    their logs. Its methods raise `KafkaFailed`. `reset` is the user's auto.offset.reset:
    "earliest", "latest", or None.
    """

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._where, self._group = str(kafka["bootstrap.servers"]), kafka.get("group.id")
        reset = kafka.get("auto.offset.reset")
        self.reset = "earliest" if reset in EARLIEST else "latest" if reset in LATEST else None
        self._failure: KafkaError | None = None
        self.subscribed = self._troubled = False
        self.committed_last: dict[Key, int] = {}
        # librdkafka requires a group.id. Nothing is committed under this default.
        settings = {**AHEAD, **_QUIET, **_IN_A_GROUP, "group.id": "lockgate-reader", **kafka, **_OURS}
        self._tell = settings.pop("error_cb", None)
        settings |= {"error_cb": self._on_error, "on_commit": self._on_commit}
        connecting = {key: value for key, value in kafka.items() if key.startswith(_CONNECTING) or key in _QUIET}
        try:
            self._consumer = Consumer(settings)
            self._admin = AdminClient({**_QUIET, **connecting})
        except (KafkaException, ValueError, TypeError) as error:
            raise KafkaFailed(f"Kafka's client refuses its settings: {_said(error)}; correct kafka=") from error
        self._known: set[Key] = set()  # to the admin client

    def subscribe(self, topics: Sequence[str], assigned: Callable[..., None], revoked: Callable[..., None]) -> None:
        """Join Kafka's group. In `fetch`, it calls `assigned` with partitions to assign, and
        `revoked` with those to unassign, with `lost=True` if others may already be reading them.
        """

        def calls(act: Callable[..., None], **options: bool) -> Callable[[Consumer, list[TopicPartition]], None]:
            return lambda consumer, found: act(list(map(_key, found)), **options)

        self.subscribed, lost = True, calls(revoked, lost=True)
        self._consumer.subscribe(list(topics), on_assign=calls(assigned), on_revoke=calls(revoked), on_lost=lost)

    def assign(self, starts: Mapping[Key, int]) -> None:
        self._do("incremental_assign", [(*key, offset) for key, offset in starts.items()])

    def unassign(self, keys: Collection[Key]) -> None:
        self._forget_committed(keys)  # another reader commits them from now on
        self._do("incremental_unassign", keys)

    def refetch(self, starts: Mapping[Key, int]) -> None:
        """Fetch these partitions again, each from the given offset, and resume paused ones."""
        if not self.subscribed:
            self.unassign(starts)
            self.assign(starts)
            return
        for key, offset in starts.items():  # without unassigning it, which Kafka's group decides
            seek = partial(self._consumer.seek, TopicPartition(*key, offset))
            self._tried(seek, f"did not seek in {key[0]}-{key[1]}")
        self.resume(starts)

    def pause(self, keys: Collection[Key]) -> None:
        self._do("pause", keys)

    def resume(self, keys: Collection[Key]) -> None:
        """Resume fetching these partitions after the last record that `fetch` returned."""
        self._do("resume", keys)

    def fetch(self, most: int, timeout_s: float) -> list[Message]:
        """Return up to `most` messages, or errors (`is_lost`). Wait `timeout_s` for the first."""
        try:
            save_collection(most)
            found: list[Message] = self._consumer.consume(most, 0)
            ends, pause_s = time.monotonic() + timeout_s, _LOOK_S
            # librdkafka would wait by the wall clock, an hour longer if it is set back by an hour.
            while not found and (left_s := ends - time.monotonic()) > 0:
                time.sleep(min(pause_s, left_s))
                pause_s = min(2 * pause_s, _LOOK_MOST_S)
                found = self._consumer.consume(most, 0)
        except (KafkaException, RuntimeError) as error:
            raise self._failed("gave no records", error) from error
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise self._failed("refuses this client", failure)
        if found and self._troubled:
            self._troubled = False
            log.warning("Kafka at %s: receiving records again", self._where)
        return found

    def is_lost(self, message: Message) -> bool:
        """Return whether Kafka does not have the offset of this error. Otherwise it is the end of
        a partition, or it passes. Raises `KafkaFailed` if it does not.
        """
        error = message.error()
        assert error is not None, "it is a record"
        if error.code() in _LOST or error.code() == KafkaError._PARTITION_EOF:
            return error.code() in _LOST
        where = f"{message.topic()}-{message.partition()}" if message.topic() else "its partitions"
        rejoins = self.subscribed and error.code() == KafkaError._MAX_POLL_EXCEEDED
        if error.fatal() or (error.code() in _FATAL and not rejoins):
            raise self._failed(f"refuses {where}", error)
        log.warning("Kafka at %s: cannot read %s for now: %s", self._where, where, error.str())
        return False

    def commit(self, positions: Mapping[Key, int], *, wait: bool) -> None:
        """Commit `positions` that are new or failed before. Without `wait`, only log a failure."""
        news = {key: at for key, at in positions.items() if at >= 0 and self.committed_last.get(key) != at}
        if not news:
            return
        offsets = [TopicPartition(*key, offset) for key, offset in news.items()]
        commit: Callable[[], Any] = partial(self._consumer.commit, offsets=offsets, asynchronous=not wait)
        try:
            if wait:
                self._tried(lambda: _fine(commit()), "did not commit", _COMMIT_S)
            else:
                commit()
            self.committed_last.update(news)
        except KafkaException as error:
            self._on_commit(error.args[0], offsets)

    def close(self) -> None:
        self._consumer.close()

    def partitions(self, topics: Iterable[str], *, led: bool = False) -> list[Key]:
        """Return the partitions of these topics; with `led`, only those that have a leader."""
        found: list[Key] = []
        for topic in topics:
            # The consumer asks. This opens its connections, so the first fetch is a second faster.
            metadata = self._topic(self._consumer, topic)
            if metadata.error is not None:
                why = f"has no topic {topic!r} for this client ({metadata.error.str()})"
                raise KafkaFailed(f"Kafka at {self._where} {why}: create it, allow it, or correct the name")
            every = sorted(metadata.partitions.items())
            found += [(topic, partition) for partition, each in every if each.leader >= 0 or not led]
        return found

    def resolved(self, offsets: Mapping[Key, int]) -> dict[Key, int]:
        """Return `offsets` without the words LATEST_OFFSET and COMMITTED_OFFSET. `reset` decides
        where no offset was committed. Raises `NoStartingOffset` if that is not set.
        """
        latest = [key for key, at in offsets.items() if at == LATEST_OFFSET]
        asked = [key for key, at in offsets.items() if at == COMMITTED_OFFSET]
        call = partial(self._consumer.committed, [TopicPartition(*key) for key in asked], timeout=CALL_S)
        found = self._tried(lambda: _fine(call()), "did not give committed offsets") if asked else []
        committed = {_key(each): each.offset for each in found if each.offset != _OFFSET_INVALID}
        others = [key for key in asked if key not in committed]
        if others and self.reset is None:
            lacks = f"group.id {self._group!r} has committed nothing" if self._group else "starting_offsets has nothing"
            raise NoStartingOffset(
                f'{lacks} for {_names(others)}: set "auto.offset.reset" in kafka= to "earliest" or "latest", or '
                "starting_offsets="
            )
        others_at = self.offsets(others, LATEST_OFFSET if self.reset == "latest" else EARLIEST_OFFSET)
        return {**offsets, **self.offsets(latest, LATEST_OFFSET), **committed, **others_at}

    def offsets(self, keys: Sequence[Key], at: int) -> dict[Key, int]:
        """Return each partition's first offset (if `at` is EARLIEST_OFFSET), the one after its last
        record (LATEST_OFFSET), or that of its first record from `at` (ms) on, or −1 if none.
        """

        def listed() -> dict[Key, int]:
            return {key: future.result(CALL_S).offset for key, future in self.ask_offsets(keys, at).items()}

        return self._tried(listed, "did not list offsets", CALL_S)

    def offsets_at(self, keys: Sequence[Key], at_ms: int) -> dict[Key, int]:
        """Return the offset of each partition's first record from `at_ms` on; its end if none."""
        ends = self.offsets(keys, LATEST_OFFSET)  # first, so that records that arrive meanwhile are not skipped
        return {key: offset if offset >= 0 else ends[key] for key, offset in self.offsets(keys, at_ms).items()}

    def ask_topics(self, topics: Iterable[str]) -> dict[str, Any]:
        """Request a description of each topic, and return a future (`id_of`) for each."""
        return dict(self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=CALL_S))

    def ask_offsets(self, keys: Sequence[Key], at: int) -> dict[Key, Any]:
        """Request `offsets`, and return a future of an `offset` for each partition."""
        if not keys:
            return {}
        # The admin client would not know new partitions for minutes, so it refreshes its metadata.
        for topic in {key[0] for key in keys if key not in self._known}:
            self._known.update((topic, partition) for partition in self._topic(self._admin, topic).partitions)
        found = self._admin.list_offsets({TopicPartition(*key): _SPEC(at) for key in keys}, request_timeout=CALL_S)
        return {_key(each): future for each, future in found.items()}

    def _topic(self, client: Consumer | AdminClient, topic: str) -> Any:
        call = partial(client.list_topics, topic, timeout=CALL_S)
        return self._tried(call, f"did not list topic {topic!r}").topics[topic]

    def _do(self, what: str, places: Collection[Any]) -> None:
        """Call the consumer's method `what` with these partitions, which may have offsets."""
        if places:
            call = partial(getattr(self._consumer, what), [TopicPartition(*place) for place in places])
            self._tried(call, f"did not {what.removeprefix('incremental_')} {_names(places)}")

    def _tried(self, call: Callable[[], T], what: str, within_s: float = 0) -> T:
        """Return the result of `call`, repeated for `within_s` after errors that pass. Raise other
        errors as `KafkaFailed`, which says `what` Kafka did.
        """
        gives_up = time.monotonic() + within_s
        while True:
            try:
                return call()
            except (KafkaException, Late) as error:
                cause = error.args[0] if error.args else None
                passes = isinstance(cause, KafkaError) and (cause.code() in _PASSING or "leader" in cause.str().lower())
                if not passes or time.monotonic() >= gives_up:
                    raise self._failed(what, error) from error
            time.sleep(_AGAIN_S)

    def _failed(self, what: str, error: BaseException | KafkaError) -> KafkaFailed:
        return KafkaFailed(f"Kafka at {self._where} {what}: {_said(error)}; see the brokers, and kafka=")

    def _forget_committed(self, keys: Iterable[Key]) -> None:
        for key in keys:
            self.committed_last.pop(key, None)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        missed = [each for each in partitions if each.error or error]
        self._forget_committed(map(_key, missed))
        if missed:
            names = _names(map(_key, missed))
            log.warning("Kafka at %s did not commit %s: %s", self._where, names, missed[0].error or error)

    def _on_error(self, error: KafkaError) -> None:
        if self._tell is not None:
            self._tell(error)
        if error.fatal() or error.code() in _FATAL:
            self._failure = error
        elif not self._troubled:
            self._troubled = True
            log.warning("Kafka at %s: %s", self._where, error.str())


def save_collection(messages: int) -> None:
    """Prevent most of the garbage collections in which Python scans fetched records that wait,
    which takes a quarter of the time. Python starts a collection at some 700 new objects, and every
    eleventh one scans older objects, too. So if the next messages would start one, scan only the
    new objects, but leave every `LEFT_TO_PYTHON`-th collection to Python.
    """
    starts = gc.get_count()[0] + messages > gc.get_threshold()[0] > 0 and gc.isenabled()
    # Without the GIL, Python has no collections of new objects only.
    if starts and getattr(sys, "_is_gil_enabled", lambda: True)() and next(_collections) % LEFT_TO_PYTHON:
        gc.collect(0)


def some(names: Iterable[str]) -> str:
    """Return the first five `names`, with "and more" if there are others."""
    every = list(names)
    return ", ".join(every[:_NAMED]) + (" and more" if len(every) > _NAMED else "")


def _names(keys: Iterable[Key]) -> str:
    return some(f"{topic}-{partition}" for topic, partition, *_ in keys)


def _key(each: TopicPartition) -> Key:
    return each.topic, each.partition


def _said(error: BaseException | KafkaError) -> str:
    """Return the message of an error, or the name of its type if it has none."""
    cause = error.args[0] if isinstance(error, BaseException) and error.args else error
    return str(cause.str()) if isinstance(cause, KafkaError) else str(cause) or type(error).__name__


def _fine(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return `partitions`, or raise the first error in them."""
    for each in partitions:
        if each.error is not None:
            raise KafkaException(each.error)
    return partitions


def id_of(answer: Any) -> str | None:
    """Wait for `answer` of `ask_topics`, and return the topic's id (KIP-516), if there is one."""
    try:
        found = answer.result(CALL_S).topic_id
    except (KafkaException, Late):
        return None
    known = found is not None and (found.get_most_significant_bits() or found.get_least_significant_bits())
    return str(found) if known else None


def runs_of(messages: Sequence[Message], topic: str | None) -> list[tuple[Key, int, int]]:
    """Return each run of messages of one partition (start, end). `topic`: that of all, or None."""
    numbers: list[Any] = list(map(Message.partition, messages))
    if topic is not None and numbers.count(numbers[0]) == len(numbers):  # the usual case
        return [((topic, numbers[0]), 0, len(numbers))]
    names: Iterable[Any] = repeat(topic) if topic is not None else map(Message.topic, messages)
    runs, start = list[tuple[Key, int, int]](), 0
    for key, run in groupby(zip(names, numbers, strict=False)):
        end = start + sum(1 for _ in run)
        runs.append((key, start, end))
        start = end
    return runs


def timestamps(messages: Sequence[Message]) -> list[int]:
    """Return Kafka's timestamp (ms) of each message; -1 for an error, or if there is none."""
    return [time for _, time in map(Message.timestamp, messages)]


def offsets(messages: Sequence[Any]) -> list[int]:
    """Return the offsets of `messages`, which are all from one partition."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # the usual case: no gaps
        return list(range(first, last + 1))
    return [message.offset() for message in messages]
