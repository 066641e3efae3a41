"""The parts of a scenario: topics, sources, a query, and acts in order. Nothing here is random, and
nothing touches Kafka or Spark.

Two lanes play a scenario over the same topics: one natively throughout, one aligned (unless an act
says otherwise). Names of topics are those of the scenario; a run puts a prefix of its own before
them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Any, TypeVar

T = TypeVar("T")
SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DEFAULT_MAX_DRIFT_MS = 5 * MINUTE_MS
FIRST_ADVERSE_SEED = 1_000


class Kind(str, Enum):
    """The classes of scenarios: first the plain ones, then the adverse ones."""

    REPLAY = "replay"
    ON_TIME = "live, on time, one silent"
    LAGGING = "live, one producer behind"
    TRANSACTIONS = "live, in transactions"
    SLICES = "slices"
    PATTERNS = "topics that come and go"
    RESTARTS = "restarts"
    JOINED = "several sources"
    PAYLOADS = "payloads without a time"
    SECONDS = "seconds for milliseconds"
    DRIVER = "the driver's clock is off"
    AHEAD = "a producer's clock leaps"
    CLUSTERS = "two clusters, one topic name"
    FIGURES = "losses that are counted"
    SLOW = "a slow producer far behind"
    GROWING = "a lag that grows"
    OPEN = "availableNow, a transaction open"
    SLICED = "slices over restarts"


PLAIN, ADVERSE = tuple(Kind)[:8], tuple(Kind)[8:]


def kind_of(seed: int) -> Kind:
    """The class of a seed: plain below `FIRST_ADVERSE_SEED`, adverse from there on, in turn."""
    kinds = PLAIN if seed < FIRST_ADVERSE_SEED else ADVERSE
    return kinds[seed % len(kinds)]


def in_turn(seed: int, ways: Sequence[T]) -> T:
    """One of them, each as often as any other over the seeds of a class."""
    kinds, first = (PLAIN, 0) if seed < FIRST_ADVERSE_SEED else (ADVERSE, FIRST_ADVERSE_SEED)
    return ways[(seed - first) // len(kinds) % len(ways)]


class Operator(str, Enum):
    """The operator of the query."""

    ROWS = "rows as they are"
    COUNT = "windowed counts"
    DEDUP = "deduplication within the watermark"
    SESSION = "session windows"
    PROCESSOR = "transformWithState"
    INNER = "inner join"
    OUTER = "left outer join"


@dataclass(frozen=True, slots=True)
class Stamp:
    """A record to be sent. `when`: ms, in a replay the event time after its origin, live how far
    behind the clock when it is sent. Two stamps with one `n` are one record that its producer
    repeats. `text`: stands in the payload in place of the event time, and is none.
    """

    n: int
    when: int
    key: int = 0
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Records for one partition, `at_ms` after the act began. `transaction`: by whom, None for a
    plain producer.
    """

    at_ms: int
    topic: str
    partition: int
    stamps: tuple[Stamp, ...]
    transaction: str | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The end of the open transaction of one producer."""

    at_ms: int
    transaction: str
    commits: bool = True


# -- acts --


@dataclass(frozen=True, slots=True)
class Create:
    """A topic comes into being."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Widen:
    """A topic gets more partitions, so many in all."""

    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Topics go."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """The acts of producers. `paced`: by the clock; else all at once."""

    steps: tuple[Send | End, ...]
    paced: bool = False


@dataclass(frozen=True, slots=True)
class Trim:
    """Kafka deletes the first records of a partition, as its retention would: those whose `n` is
    below `first_kept`.
    """

    topic: str
    partition: int
    first_kept: int


@dataclass(frozen=True, slots=True)
class Start:
    """A run begins in both lanes. `interval_ms`: of its trigger; None: `availableNow`. `aligned`:
    whether the aligned lane is. `fails_in`: its sink fails in so many-th batch, 1 for the first,
    once it has written (`wrote`) or before.
    """

    interval_ms: int | None = None
    aligned: bool = True
    fails_in: int | None = None
    wrote: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """Both lanes end by themselves. `reads_all`: all records in the log when the run began were to
    be read.
    """

    reads_all: bool = True


@dataclass(frozen=True, slots=True)
class ProcessAll:
    """`processAllAvailable()` in both lanes."""

    reads_all: bool = True


@dataclass(frozen=True, slots=True)
class Warm:
    """Until the native lane has read all there is, however long that takes, and the aligned lane
    has had so long for it.
    """

    within_s: float = 3.0


@dataclass(frozen=True, slots=True)
class Batches:
    """Until each lane has committed so many batches in this run, or has read all."""

    count: int


@dataclass(frozen=True, slots=True)
class Pass:
    """So long nothing happens."""

    lasts_s: float


@dataclass(frozen=True, slots=True)
class Settle:
    """Until both lanes have read all there is, for so long at most. `reads_all`: they were to."""

    within_s: float
    reads_all: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Both lanes are stopped from outside. `killed`: what lockgate keeps beside the checkpoint is
    as it was before, as after `kill -9`.
    """

    killed: bool = False


@dataclass(frozen=True, slots=True)
class Away:
    """All clocks move on at once, those of the drivers and of the producers."""

    lasts_ms: int


@dataclass(frozen=True, slots=True)
class DriverClock:
    """From now on the driver's wall clock is off by so much; its monotonic clock is right."""

    off_ms: int


Act = (
    Create
    | Widen
    | Drop
    | Append
    | Trim
    | Start
    | Finish
    | ProcessAll
    | Warm
    | Batches
    | Pass
    | Settle
    | Stop
    | Away
    | DriverClock
)


@dataclass(frozen=True, slots=True)
class Source:
    """A Kafka source. `topics`: by name, or `pattern` behind the prefix of the run. `options`:
    Spark's, beside the subscription. A topic `a@1` is called `a` on the second cluster.
    """

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cluster(self) -> int:
        """The number of its cluster."""
        return cluster_of(self.topics[0]) if self.topics else 0


def cluster_of(topic: str) -> int:
    """The number of the cluster that has a topic."""
    return int(topic.partition("@")[2] or 0)


@dataclass(frozen=True, slots=True)
class Query:
    """`delay_ms`: of the watermark. `size_ms`: of windows, the gap of sessions, or how far apart
    partners of a join may be.

    `alignment`: arguments of `Alignment` by name, durations in ms. `in_payload`: event time is in
    the value, not Kafka's timestamp. `event_time`: by which of `queries.EVENT_TIMES` alignment
    reads it there. `log_format`: of Spark's offset log. `actions`: of foreachBatch, each of which
    computes the batch.
    """

    operator: Operator
    delay_ms: int
    size_ms: int
    sources: tuple[Source, ...]
    alignment: Mapping[str, Any] = field(default_factory=dict)
    in_payload: bool = False
    event_time: str = "cast"
    log_format: int = 1
    actions: int = 1

    @property
    def observes(self) -> bool:
        """Whether lockgate only watches."""
        return self.alignment.get("mode") == "observe"

    @property
    def max_drift_ms(self) -> int:
        """As lockgate takes it."""
        return int(self.alignment.get("max_drift", min(DEFAULT_MAX_DRIFT_MS, self.delay_ms)))

    @property
    def disorder_ms(self) -> int:
        """As it was promised."""
        return int(self.alignment.get("max_out_of_orderness", 0))

    @property
    def slice_ms(self) -> int | None:
        """The window at whose ends batches are cut."""
        return self.alignment.get("slice")

    @property
    def most_offsets(self) -> float:
        """The read limit of a query with one source."""
        return float(self.sources[0].options.get("maxOffsetsPerTrigger", inf))


@dataclass(frozen=True, slots=True)
class Scenario:
    """`title`: the scenario in words. `origin_ms`: of a replay, None of a live feed. `fresh`:
    seconds behind are judged. `whole`: all is read from the first window on, so that each one
    within the read limit can be complete.
    """

    seed: int
    kind: Kind
    title: str
    query: Query
    acts: tuple[Act, ...]
    origin_ms: int | None = None
    fresh: bool = False
    whole: bool = False

    @property
    def sends(self) -> list[Send]:
        """All that producers send, in order."""
        return [step for act in self.acts if isinstance(act, Append) for step in act.steps if isinstance(step, Send)]
