"""A wrapper around Kafka's client, confluent-kafka, that translates its errors."""

import gc
import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, repeat
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from lockgate_http.errors import KafkaFailed
from lockgate_reader.config import EARLIEST, LATEST
from lockgate_reader.kafka.logs import AGAIN_S, CALL_S, QUIET, KafkaLogs, failed, failing, said, some
from lockgate_reader.place import Key, NoStartingOffset

log = logging.getLogger("lockgate")

Rebalance = Callable[[list[Key]], None]
_COMMIT_S = 10.0  # for the coordinator of Kafka's group
_COMMIT_AGAIN = (KafkaError._WAIT_COORD, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION)
_LOOK_S, _LOOK_MOST_S = 0.001, 0.005  # the pauses between looks for records
_OFFSET_INVALID = -1001
# A position that Kafka does not have is an error, because librdkafka would otherwise silently
# continue at another offset. `reading.lost_positions` applies the user's auto.offset.reset.
_OURS: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
}
# In Kafka's group, partitions that stay are read on while others move.
_IN_A_GROUP = {"partition.assignment.strategy": "cooperative-sticky", "topic.metadata.refresh.interval.ms": 60_000}
_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._LOG_TRUNCATION)
# How much librdkafka fetches ahead of a partition. It drops these records if the partition is
# paused, so this is less than the default of 100,000. It also checks earlier than after 1 s whether
# there is room again: with 10 ms, a fast program had to wait for records.
AHEAD = {"queued.min.messages": 20_000, "fetch.queue.backoff.ms": 2}
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

keys, values = partial(map, Message.key), partial(map, Message.value)


class KafkaClient:
    """A Kafka consumer with the user's settings `kafka`, for one thread. Its methods raise
    `KafkaFailed`. `reset` is the user's auto.offset.reset: "earliest", "latest", or None.
    """

    def __init__(self, kafka: Mapping[str, Any]) -> None:
        self._where, self._group = str(kafka["bootstrap.servers"]), kafka.get("group.id")
        reset = kafka.get("auto.offset.reset")
        self.reset = "earliest" if reset in EARLIEST else "latest" if reset in LATEST else None
        self._failure: KafkaError | None = None
        self.subscribed = self._troubled = False
        self.committed_last: dict[Key, int] = {}
        self._collections = Collections()
        # librdkafka requires a group.id. Nothing is committed under this default.
        settings = {**AHEAD, **QUIET, **_IN_A_GROUP, "group.id": "lockgate-reader", **kafka, **_OURS}
        self._tell = settings.pop("error_cb", None)
        settings |= {"error_cb": self._on_error, "on_commit": self._on_commit}
        try:
            self._consumer = Consumer(settings)
            self.logs = KafkaLogs(kafka, self._consumer.list_topics)
        except (KafkaException, ValueError, TypeError) as error:
            raise KafkaFailed(f"Kafka's client refuses its settings: {said(error)}; correct kafka=") from error

    def committed(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Return the committed offset of each of these partitions that has one."""
        with failing(self._where, "did not give committed offsets"):
            found = _fine(self._consumer.committed([TopicPartition(*key) for key in keys], timeout=CALL_S))
        return {(each.topic, each.partition): each.offset for each in found if each.offset != _OFFSET_INVALID}

    def reset_offsets(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Return where these partitions, which have no committed offset, start."""
        if self.reset is not None or not keys:
            return self.logs.offsets(keys, latest=self.reset == "latest")
        lacks = f"group.id {self._group!r} has committed nothing" if self._group else "starting_offsets has nothing"
        raise NoStartingOffset(
            f"{lacks} for {some(f'{topic}-{partition}' for topic, partition in keys)}: set "
            '"auto.offset.reset" in kafka= to "earliest" or "latest", or starting_offsets='
        )

    def subscribe(self, topics: Sequence[str], assigned: Rebalance, revoked: Rebalance, lost: Rebalance) -> None:
        """Join Kafka's group. In `fetch`, it calls `assigned` with partitions to assign, `revoked`
        with those to unassign, and `lost` with those that others may already be reading.
        """

        def calls(act: Rebalance) -> Callable[[Consumer, list[TopicPartition]], None]:
            return lambda consumer, found: act([(each.topic, each.partition) for each in found])

        self.subscribed = True
        self._consumer.subscribe(list(topics), on_assign=calls(assigned), on_revoke=calls(revoked), on_lost=calls(lost))

    def assign(self, starts: Mapping[Key, int]) -> None:
        self._do("incremental_assign", [TopicPartition(*key, offset) for key, offset in starts.items()])

    def unassign(self, keys: Iterable[Key]) -> None:
        found = list(keys)
        for key in found:
            self.committed_last.pop(key, None)  # another reader commits it from now on
        self._do("incremental_unassign", [TopicPartition(*key) for key in found])

    def refetch(self, starts: Mapping[Key, int]) -> None:
        """Fetch these partitions again, each from the given offset, and resume paused ones."""
        if not self.subscribed:
            self.unassign(starts)
            self.assign(starts)
            return
        for key, offset in starts.items():  # without unassigning it, which Kafka's group decides
            with failing(self._where, f"did not seek in {key[0]}-{key[1]}"):
                self._consumer.seek(TopicPartition(*key, offset))
        self.resume(starts)

    def pause(self, keys: Iterable[Key]) -> None:
        self._do("pause", [TopicPartition(*key) for key in keys])

    def resume(self, keys: Iterable[Key]) -> None:
        """Resume fetching these partitions after the last record that `fetch` returned."""
        self._do("resume", [TopicPartition(*key) for key in keys])

    def fetch(self, most: int, timeout_s: float) -> list[Message]:
        """Return up to `most` messages or errors (`is_end`). Wait `timeout_s` for the first one."""
        try:
            self._collections.before(most)
            found: list[Message] = self._consumer.consume(most, 0)
            ends, pause_s = time.monotonic() + timeout_s, _LOOK_S
            # librdkafka would wait by the wall clock, an hour longer if it is set back by an hour.
            while not found and (left_s := ends - time.monotonic()) > 0:
                time.sleep(min(pause_s, left_s))
                pause_s = min(2 * pause_s, _LOOK_MOST_S)
                found = self._consumer.consume(most, 0)
        except (KafkaException, RuntimeError) as error:
            raise failed(self._where, "gave no records", error) from error
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failed(self._where, "refuses this client", failure)
        if found and self._troubled:
            self._troubled = False
            log.warning("Kafka at %s: receiving records again", self._where)
        return found

    def is_end(self, message: Message) -> bool:
        """Return False for a record, and True for an error after which reading can continue: the
        end, a lost offset (`is_lost`), or a passing error. Raises `KafkaFailed` for others.
        """
        error = message.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF or self.is_lost(message):
            return True
        where = f"{message.topic()}-{message.partition()}" if message.topic() else "its partitions"
        rejoins = self.subscribed and error.code() == KafkaError._MAX_POLL_EXCEEDED
        if error.fatal() or (error.code() in _FATAL and not rejoins):
            raise failed(self._where, f"refuses {where}", error)
        log.warning("Kafka at %s: cannot read %s for now: %s", self._where, where, error.str())
        return True

    def is_lost(self, message: Message) -> bool:
        error = message.error()
        return error is not None and error.code() in _LOST

    def commit(self, positions: Mapping[Key, int], *, wait: bool) -> None:
        """Commit `positions` that are new or failed before. Without `wait`, only log a failure."""
        news = {key: at for key, at in positions.items() if at >= 0 and self.committed_last.get(key) != at}
        if not news:
            return
        offsets = [TopicPartition(*key, offset) for key, offset in news.items()]
        self.committed_last.update(news)
        gives_up = time.monotonic() + _COMMIT_S
        while True:
            try:
                if wait:
                    _fine(self._consumer.commit(offsets=offsets, asynchronous=False))
                else:
                    self._consumer.commit(offsets=offsets, asynchronous=True)
                return
            except KafkaException as error:
                passes = error.args[0].code() in _COMMIT_AGAIN  # Kafka's group is rebalanced
                if not wait or not passes or time.monotonic() >= gives_up:
                    self._on_commit(error.args[0], offsets)
                    if wait:
                        raise failed(self._where, "did not commit", error) from error
                    return
            time.sleep(AGAIN_S)

    def close(self) -> None:
        self._consumer.close()

    def _do(self, what: str, partitions: list[TopicPartition]) -> None:
        if partitions:
            names = some(f"{each.topic}-{each.partition}" for each in partitions)
            with failing(self._where, f"did not {what.removeprefix('incremental_')} {names}"):
                getattr(self._consumer, what)(partitions)

    def _on_commit(self, error: KafkaError | None, partitions: list[TopicPartition]) -> None:
        missed = {(each.topic, each.partition): each.error or error for each in partitions if each.error or error}
        for key in missed:
            self.committed_last.pop(key, None)
        if missed:
            names, why = some(f"{topic}-{partition}" for topic, partition in missed), next(iter(missed.values()))
            log.warning("Kafka at %s did not commit %s: %s", self._where, names, why)

    def _on_error(self, error: KafkaError) -> None:
        if self._tell is not None:
            self._tell(error)
        if error.fatal() or error.code() in _FATAL:
            self._failure = error
        elif not self._troubled:
            self._troubled = True
            log.warning("Kafka at %s: %s", self._where, error.str())


class Collections:
    """Prevents most of the garbage collections in which Python scans fetched records that wait,
    which takes a quarter of the time. Python starts a collection at some 700 new objects, and every
    eleventh one scans older objects, too. So if the next messages would start one, `before` scans
    only the new objects, but leaves every `LEFT_TO_PYTHON`-th collection to Python.
    """

    LEFT_TO_PYTHON = 50

    def __init__(self) -> None:
        # Without the GIL, Python has no collections of new objects only.
        self._can = getattr(sys, "_is_gil_enabled", lambda: True)()
        self._saved = 0

    def before(self, messages: int) -> None:
        if gc.get_count()[0] + messages > gc.get_threshold()[0] > 0 and self._can and gc.isenabled():
            self._saved = (self._saved + 1) % self.LEFT_TO_PYTHON
            if self._saved:
                gc.collect(0)


def _fine(partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return `partitions`, or raise the first error in them."""
    for each in partitions:
        if each.error is not None:
            raise KafkaException(each.error)
    return partitions


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
