"""The options of `AlignedConsumer`, validated on construction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lockgate.duration import Duration
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET
from lockgate.flink.strategy import WatermarkStrategy
from lockgate_http.config import Coordinator
from lockgate_http.duration import Duration as Length
from lockgate_http.duration import milliseconds
from lockgate_http.errors import ConfigurationError
from lockgate_http.group.agreement import source_name
from lockgate_reader.place import AssignedSplit, Key, ReaderSplit

if TYPE_CHECKING:
    from confluent_kafka import Message

STRATEGY = "partition.assignment.strategy"
COMMIT, COMMIT_MS, REFRESH_MS = "enable.auto.commit", "auto.commit.interval.ms", "topic.metadata.refresh.interval.ms"
STARTS = {"committed": COMMITTED_OFFSET, "earliest": EARLIEST_OFFSET, "latest": LATEST_OFFSET}
# Settings that the reader controls itself.
_NOT_OURS = ("enable.auto.offset.store", "enable.partition.eof", "on_commit")
# Values of auto.offset.reset. Of librdkafka's words for an error, only "error" is accepted.
EARLIEST, LATEST = ("earliest", "smallest", "beginning"), ("latest", "largest", "end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Checked options of `AlignedConsumer`, whose docstring describes them."""

    topics: tuple[str, ...]
    kafka: Mapping[str, Any]
    coordinator: Coordinator | None
    max_drift: Length | None
    max_out_of_orderness: Length | WatermarkStrategy | None
    idle_timeout: Length | None
    event_time: "Callable[[Message], int | None] | None"
    starting_offsets: str | datetime | Mapping[Key, int]
    ending_offsets: str | None
    partitions: str | None
    on_assigned: Callable[[Sequence[AssignedSplit]], Mapping[Key, int] | None] | None
    on_revoked: Callable[[Sequence[ReaderSplit]], None] | None

    def __post_init__(self) -> None:
        named = self.topics and all(isinstance(topic, str) and topic for topic in self.topics)
        _check(named, f"topics={self.topics!r}", "expected a topic's name, or several")
        _check_kafka(self.kafka)
        calls = self.event_time is None or callable(self.event_time)
        for name, fine, expected in (
            ("coordinator", isinstance(self.coordinator, Coordinator | None), "a lockgate_reader.Coordinator"),
            ("event_time", calls, "a function of a record that returns ms since 1970, or None"),
            ("ending_offsets", self.ending_offsets in (None, "latest"), "'latest', or None to read on"),
            ("partitions", self.partitions in (None, "kafka"), "'kafka', or None"),
        ):
            _check(fine, f"{name}={getattr(self, name)!r}", f"expected {expected}")
        _check_start(self)
        _check_watermarks(self)
        if self.partitions is not None:
            _check_partitions(self)

    @property
    def source(self) -> str:
        chosen = self.coordinator.source if self.coordinator else None
        return source_name(chosen, None, "-".join(self.topics))

    @property
    def max_drift_ms(self) -> int:
        return self._ms("max_drift", "5 minutes")

    @property
    def disorder_ms(self) -> int:
        """Return `max_out_of_orderness` in ms; 0 if a `WatermarkStrategy` is used instead."""
        return 0 if isinstance(self.max_out_of_orderness, WatermarkStrategy) else self._ms("max_out_of_orderness", 0)

    @property
    def idle_timeout_ms(self) -> int | None:
        """Return the idle timeout (ms); None if a `WatermarkStrategy` without one is used."""
        if isinstance(self.max_out_of_orderness, WatermarkStrategy):
            timeout = self.max_out_of_orderness.idle_timeout
            return None if timeout is None else timeout.to_millis("idle_timeout")
        return self._ms("idle_timeout", "1 minute")

    @property
    def strategy(self) -> WatermarkStrategy:
        if isinstance(self.max_out_of_orderness, WatermarkStrategy):
            return self.max_out_of_orderness
        return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(ms=self.disorder_ms))

    @property
    def commit_interval_ms(self) -> int | None:
        """Return the time (ms) between automatic commits; None if they are disabled."""
        commits = self.kafka.get(COMMIT, self.partitions == "kafka")
        return int(self.kafka.get(COMMIT_MS, 5_000)) if _is_true(commits) else None

    @property
    def discovery_ms(self) -> int:
        """Return the time (ms) between two searches for new partitions; 0 to search only once."""
        return max(0, int(self.kafka.get(REFRESH_MS, 60_000)))

    def _ms(self, option: str, default: Length) -> int:
        given = getattr(self, option)
        return milliseconds(f"AlignedConsumer({option})", default if given is None else given)


def _check(fine: object, option: str, expected: str) -> None:
    if not fine:
        raise ConfigurationError(f"AlignedConsumer({option}): {expected}")


def _is_true(value: object) -> bool:
    return value is True or str(value).lower() == "true"


def _check_kafka(kafka: Mapping[str, Any]) -> None:
    expected = 'expected the settings of Kafka\'s client; write kafka={"bootstrap.servers": "HOST:PORT"}'
    _check(isinstance(kafka, Mapping) and kafka.get("bootstrap.servers"), "kafka", expected)
    for key in _NOT_OURS:
        _check(key not in kafka, "kafka", f"{key} cannot be set, for the reader does this itself; leave it out")
    reset = kafka.get("auto.offset.reset", "error")
    known = reset in (*EARLIEST, *LATEST, "error")
    _check(known, "kafka", f"auto.offset.reset is {reset!r}: expected 'earliest', 'latest' or 'error'")
    for key in (COMMIT_MS, REFRESH_MS):
        number = str(kafka.get(key, 0)).lstrip("-").isdecimal()
        _check(number, "kafka", f"{key} is {kafka.get(key)!r}: expected a number of ms")
    commits = _is_true(kafka.get(COMMIT)) and not kafka.get("group.id")
    _check(not commits, "kafka", f"{COMMIT} is set, but nothing is committed without a group.id; set one")


def _check_start(options: Options) -> None:
    start = options.starting_offsets
    if isinstance(start, datetime):
        _check(start.tzinfo is not None, f"starting_offsets={start!r}", "expected a datetime with its time zone")
    elif isinstance(start, Mapping):
        for key, offset in start.items():
            option = f"starting_offsets={{{key!r}: {offset!r}}}"
            is_key = isinstance(key, tuple) and [type(part) for part in key] == [str, int]
            expected = "expected an offset of 0 or more for each partition; write {('TOPIC', 0): 100}"
            _check(is_key and type(offset) is int and offset >= 0, option, expected)
            expected = f"topic {key[0]!r} is not read; the topics are {', '.join(options.topics)}"
            _check(key[0] in options.topics, option, expected)
    else:
        expected = "expected 'committed', 'earliest', 'latest', a datetime, or an offset for each partition"
        _check(isinstance(start, str) and start in STARTS, f"starting_offsets={start!r}", expected)
        needs = "'committed' needs a group.id in kafka=; set one, or write starting_offsets='earliest' or 'latest'"
        _check(start != "committed" or options.kafka.get("group.id"), "starting_offsets", needs)


def _check_partitions(options: Options) -> None:
    for name, default in (("starting_offsets", "committed"), ("ending_offsets", None)):
        given, instead = getattr(options, name), "Kafka's group begins at its committed offsets and has no end"
        _check(given == default, f"partitions='kafka', {name}={given!r}", f"{instead}; leave it out")
    strategy = options.kafka.get(STRATEGY, "cooperative-sticky")
    expected = f"{STRATEGY} is {strategy!r}: expected 'cooperative-sticky', so that partitions that stay are read on"
    _check(strategy == "cooperative-sticky", "kafka", expected)


def _check_watermarks(options: Options) -> None:
    strategy = options.max_out_of_orderness
    if isinstance(strategy, WatermarkStrategy):
        instead = "with_watermark_alignment has no place here; write max_drift= and coordinator="
        _check(not strategy.alignment.enabled, "max_out_of_orderness", instead)
        instead = "the strategy in max_out_of_orderness says this itself; write with_idleness there"
        _check(options.idle_timeout is None, "idle_timeout", instead)
    bounds = f"max_drift={options.max_drift!r}, max_out_of_orderness={strategy!r}"
    expected = "max_drift must be greater than max_out_of_orderness, and greater than 0"
    _check(options.max_drift_ms > options.disorder_ms, bounds, expected)
    _ = options.idle_timeout_ms  # raises an error if the option is invalid
