"""The options of `AlignedConsumer`: frozen, and checked when they are made. Names and defaults are
those of `lockgate_spark`, where it has them.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from lockgate.duration import Duration
from lockgate.flink.splits import COMMITTED_OFFSET, EARLIEST_OFFSET, LATEST_OFFSET
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.wire.fields import NAME, NAME_RULE
from lockgate_http.config import Coordinator, Named
from lockgate_http.duration import Duration as Length
from lockgate_http.duration import milliseconds
from lockgate_http.errors import ConfigurationError

if TYPE_CHECKING:
    from confluent_kafka import Message

DEFAULT_MAX_DRIFT = "5 minutes"
DEFAULT_IDLE_TIMEOUT = "1 minute"
_WORDS = {"committed": COMMITTED_OFFSET, "earliest": EARLIEST_OFFSET, "latest": LATEST_OFFSET}
# The reader says by itself where it begins, and what it has read.
_NOT_OURS = {
    "enable.auto.commit": "the reader commits what was handed out: call commit(), or set commit_interval",
    "enable.auto.offset.store": "the reader keeps the positions itself",
    "enable.partition.eof": "the reader sets it",
    "on_commit": "commit() says whether it succeeded, and what failed between is committed again",
}


# Where librdkafka's words say to go on; the rest are an error.
_RESETS = ("earliest", "smallest", "beginning", "latest", "largest", "end", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Named):
    """Checked options of `AlignedConsumer`, whose docstring describes them."""

    topics: tuple[str, ...]
    kafka: Mapping[str, Any]
    source: str | None = None
    max_drift: Length | None = None
    strategy: WatermarkStrategy | None = None
    max_out_of_orderness: Length | None = None
    idle_timeout: Length | None = None
    event_time: "Callable[[Message], int | None] | None" = None
    future_bound: Length | None = "1 day"
    starting_offsets: str | Mapping[tuple[str, int], int] = "committed"
    starting_timestamp: int | datetime | None = None
    ending_offsets: str | None = None
    commit_interval: Length | None = None
    discovery_interval: Length = "1 minute"
    snapshot_interval: Length | None = None
    subtask: int | None = None
    capacity: int = 1
    coordinator: Coordinator | None = None

    def __post_init__(self) -> None:
        if not self.topics or not all(isinstance(topic, str) and topic for topic in self.topics):
            raise ConfigurationError(f"AlignedConsumer(topics={self.topics!r}): expected a topic's name, or several")
        _check_kafka(self.kafka)
        if self.coordinator is not None and not isinstance(self.coordinator, Coordinator):
            raise ConfigurationError(
                f"AlignedConsumer(coordinator={self.coordinator!r}): expected a lockgate_reader.Coordinator; write "
                "Coordinator('http://HOST:PORT', group='NAME')"
            )
        if self.source is not None and not (isinstance(self.source, str) and NAME.match(self.source)):
            raise ConfigurationError(f"AlignedConsumer(source={self.source!r}): {NAME_RULE}")
        if self.event_time is not None and not callable(self.event_time):
            raise ConfigurationError(
                f"AlignedConsumer(event_time={self.event_time!r}): expected a function of a record that returns ms "
                "since 1970, or None for a record without an event time"
            )
        _check_start(self)
        if self.ending_offsets not in (None, "latest"):
            raise ConfigurationError(
                f"AlignedConsumer(ending_offsets={self.ending_offsets!r}): expected 'latest', or None to read on"
            )
        _check_strategy(self)
        for name, least in (("subtask", 0), ("capacity", 0)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < least):
                raise ConfigurationError(f"AlignedConsumer({name}={value!r}): expected a whole number, {least} or more")
        for name in ("discovery_interval", "commit_interval", "future_bound", "snapshot_interval"):
            if getattr(self, name) is not None:
                self._ms(name)
        if self.commit_interval is not None and not self.kafka.get("group.id"):
            raise ConfigurationError(
                f"AlignedConsumer(commit_interval={self.commit_interval!r}): nothing is committed without a group.id; "
                "set one in kafka="
            )
        if self.max_drift_ms <= self.disorder_ms:
            raise ConfigurationError(
                f"AlignedConsumer(max_drift={self.max_drift!r}, max_out_of_orderness={self.max_out_of_orderness!r}): "
                "max_drift must be greater than max_out_of_orderness, and greater than 0"
            )

    @property
    def start(self) -> int:
        """Where the first splits begin of which no offset is known: a word of Flink's splits."""
        return _WORDS[self.starting_offsets] if isinstance(self.starting_offsets, str) else COMMITTED_OFFSET

    @property
    def start_offsets(self) -> Mapping[tuple[str, int], int]:
        """The offsets to begin at, by topic and partition."""
        return {} if isinstance(self.starting_offsets, str) else self.starting_offsets

    @property
    def start_ms(self) -> int | None:
        """Splits begin at the first record of this Kafka timestamp or a later one, ms; None: they
        do
        not.
        """
        at = self.starting_timestamp
        return round(at.timestamp() * 1000) if isinstance(at, datetime) else at

    @property
    def max_drift_ms(self) -> int:
        """How far a split may be above the lowest one, ms."""
        drift = DEFAULT_MAX_DRIFT if self.max_drift is None else self.max_drift
        return milliseconds("AlignedConsumer(max_drift)", drift)

    @property
    def disorder_ms(self) -> int:
        """0 where a strategy is given."""
        return 0 if self.max_out_of_orderness is None else self._ms("max_out_of_orderness")

    @property
    def idle_timeout_ms(self) -> int | None:
        """How far behind the clock a live producer may be, ms; None where a strategy is given."""
        if self.strategy is not None:
            return None
        return milliseconds(
            "AlignedConsumer(idle_timeout)", DEFAULT_IDLE_TIMEOUT if self.idle_timeout is None else self.idle_timeout
        )

    @property
    def watermarks(self) -> WatermarkStrategy:
        """The strategy of each split, without alignment."""
        if self.strategy is not None:
            return self.strategy
        return WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(ms=self.disorder_ms))

    @property
    def future_bound_ms(self) -> int | None:
        """How far ahead of the clock an event time may be, ms; None: no such bound."""
        return None if self.future_bound is None else self._ms("future_bound")

    @property
    def commit_interval_ms(self) -> int | None:
        """How often positions are committed, ms; None: never by itself."""
        return None if self.commit_interval is None else self._ms("commit_interval")

    @property
    def discovery_ms(self) -> int:
        """How often new partitions are looked for, ms; 0: never."""
        return self._ms("discovery_interval")

    def _ms(self, name: str) -> int:
        return milliseconds(f"AlignedConsumer({name})", getattr(self, name))


def _check_kafka(kafka: object) -> None:
    if not isinstance(kafka, Mapping) or not kafka.get("bootstrap.servers"):
        raise ConfigurationError(
            "AlignedConsumer(kafka): expected the settings of Kafka's client, with bootstrap.servers; write "
            'kafka={"bootstrap.servers": "HOST:PORT"}'
        )
    for key, instead in _NOT_OURS.items():
        if key in kafka:
            raise ConfigurationError(f"AlignedConsumer(kafka): {key} cannot be set, for {instead}")
    reset = kafka.get("auto.offset.reset", "error")
    if reset not in _RESETS:
        raise ConfigurationError(
            f"AlignedConsumer(kafka): auto.offset.reset is {reset!r}: expected 'earliest', 'latest' or 'error'"
        )


def _check_start(options: Options) -> None:
    start, at = options.starting_offsets, options.starting_timestamp
    if at is not None:
        if start != "committed":
            raise ConfigurationError(
                f"AlignedConsumer(starting_timestamp={at!r}): starting_offsets says where to begin, too; leave out one"
            )
        if not (type(at) is int and at >= 0) and not (isinstance(at, datetime) and at.tzinfo is not None):
            raise ConfigurationError(
                f"AlignedConsumer(starting_timestamp={at!r}): expected ms since 1970, or a datetime with its time zone"
            )
    elif isinstance(start, Mapping):
        for key, offset in start.items():
            if not (_is_partition(key) and type(offset) is int and offset >= 0):
                raise ConfigurationError(
                    f"AlignedConsumer(starting_offsets={{{key!r}: {offset!r}}}): expected an offset of 0 or more for "
                    "each partition; write {('TOPIC', 0): 100}"
                )
            if key[0] not in options.topics:
                raise ConfigurationError(
                    f"AlignedConsumer(starting_offsets={{{key!r}: {offset!r}}}): topic {key[0]!r} is not read; the "
                    f"topics are {', '.join(options.topics)}"
                )
    elif not isinstance(start, str) or start not in _WORDS:
        raise ConfigurationError(
            f"AlignedConsumer(starting_offsets={start!r}): expected 'committed', 'earliest', 'latest', or an offset "
            "for each partition"
        )
    elif start == "committed" and not options.kafka.get("group.id"):
        raise ConfigurationError(
            "AlignedConsumer(starting_offsets): 'committed' needs a group.id in kafka=; set one, or write "
            "starting_offsets='earliest' or 'latest', or starting_timestamp="
        )


def _is_partition(key: object) -> bool:
    return isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str) and type(key[1]) is int


def _check_strategy(options: Options) -> None:
    strategy = options.strategy
    if strategy is None:
        return
    if not isinstance(strategy, WatermarkStrategy):
        raise ConfigurationError(
            f"AlignedConsumer(strategy={strategy!r}): expected a lockgate_reader.WatermarkStrategy"
        )
    if strategy.alignment.enabled:
        raise ConfigurationError(
            "AlignedConsumer(strategy): with_watermark_alignment has no place here; write max_drift=, and "
            "coordinator=Coordinator(URL, group=NAME)"
        )
    for name in ("max_out_of_orderness", "idle_timeout"):
        if getattr(options, name) is not None:
            raise ConfigurationError(
                f"AlignedConsumer({name}={getattr(options, name)!r}): a strategy says this itself; leave out either"
            )


def check_names(of: str, init: Callable[..., None], options: Iterable[str]) -> None:
    """Raise `ConfigurationError` for an option that a class does not have, and suggest another."""
    names = [name for name in inspect.signature(init).parameters if name != "self"]
    for option in set(options) - set(names):
        near = get_close_matches(option, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise ConfigurationError(f"{of} has no option {option!r}: {hint}")
