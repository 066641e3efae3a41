"""The records that the partitions of a live topic get, and when: pure functions of the clock, in ms
since the epoch.

A record has the moment at which it is made, which is when it is appended, and a stamp, its event
time. Between the two lies its producer's lag. All logs of a topic begin at one event time before
the queries start, with the records that would have been made by then.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
BEFORE_MS = 20 * SECOND_MS  # what every log holds before the furthest behind has come to the start
# of a log; a run does not get further, and behind it one record in a hundred will do
DENSE_MS = 10 * MINUTE_MS
PHASE_MS = 37  # so much apart are the turns of two partitions


@dataclass(frozen=True, slots=True)
class Producer:
    """One partition's. A record each `every_ms` (0: none at all), stamped `lag_ms` behind the
    clock. Records that were stamped in `commits_ms` are appended together at their end (0: each
    record for itself). `silent_ms`: before the start it has fallen silent for so long (None: it
    goes on).
    """

    name: str
    every_ms: int = 100
    lag_ms: int = 0
    commits_ms: int = 0
    silent_ms: int | None = None

    @property
    def most_ms(self) -> int:
        """How far behind the clock its records are at most when they are appended; 0 for one that
        appends none.
        """
        return self.lag_ms + self.commits_ms if self.every_ms and self.silent_ms is None else 0

    @property
    def holds_ms(self) -> int:
        """How far behind the clock the last that it has shown is at most; 0 for one that is never
        behind.
        """
        return self.most_ms and self.most_ms + (0 if self.commits_ms else self.every_ms)

    def made(self, phase_ms: int, since_ms: int, until_ms: int) -> Iterator[tuple[int, int]]:
        """`(made, stamp)` of the records made at `since_ms` or later, and before `until_ms`, in
        order.
        """
        if not self.every_ms:
            return
        first = since_ms - phase_ms - self.commits_ms  # no turn before it is still to be appended
        for turn in range(first - first % self.every_ms + phase_ms, until_ms, self.every_ms):
            made = turn if not self.commits_ms else turn - turn % self.commits_ms + self.commits_ms
            if since_ms <= made < until_ms:
                yield made, turn - self.lag_ms


@dataclass(frozen=True)
class Shape:
    """The producers of one topic. `settle_s`: after so many seconds every one has shown how it
    is.
    """

    name: str
    producers: tuple[Producer, ...]
    settle_s: float = 20.0

    @cached_property
    def most_ms(self) -> int:
        """How far behind the clock its records are at most."""
        return max(producer.most_ms for producer in self.producers)

    @property
    def holds_ms(self) -> int:
        """How far behind the clock the last that every producer has shown is at most."""
        return max(producer.holds_ms for producer in self.producers)

    def history(self, partition: int, start_ms: int) -> Iterator[tuple[int, int]]:
        """`(made, stamp)` of the records in a partition before the queries start."""
        producer = self.producers[partition]
        begins, ends = start_ms - self.most_ms - BEFORE_MS + producer.lag_ms, start_ms
        if producer.silent_ms is not None:
            begins, ends = start_ms - producer.silent_ms - BEFORE_MS, start_ms - producer.silent_ms
        for n, (made, stamp) in enumerate(producer.made(partition * PHASE_MS, begins, ends)):
            if made < begins + DENSE_MS or n % 100 == 0:
                yield made, stamp

    def live(self, partition: int, since_ms: int, until_ms: int) -> Iterator[tuple[int, int]]:
        """`(made, stamp)` of the records that come to a partition from `since_ms` to `until_ms`,
        both after the start.
        """
        producer = self.producers[partition]
        return producer.made(partition * PHASE_MS, since_ms, until_ms) if producer.silent_ms is None else iter(())

    def odd(self, partition: int) -> bool:
        """Whether the shape is about this partition. The others are on time."""
        return self.producers[partition] != ON_TIME


def may_wait_ms(producer: Producer, holds_ms: int, drift_ms: int) -> int:
    """How long a producer's records may wait for one that is `holds_ms` behind: by the difference
    of their lags beyond the drift, and no more.
    """
    return max(0, holds_ms - producer.lag_ms - drift_ms)


ON_TIME = Producer("on time")


def _beside(*odd: Producer, on_time: int = 3) -> tuple[Producer, ...]:
    return (ON_TIME,) * on_time + odd


SILENT = Producer("silent", silent_ms=2 * MINUTE_MS)
EMPTY = Producer("empty", every_ms=0)
SPARSE = Producer("a record in 15 s", every_ms=15 * SECOND_MS)
LAGS = Producer("lags 30 s", lag_ms=30 * SECOND_MS)
LAGS_FAR = Producer("lags 3 h", lag_ms=3 * HOUR_MS)
BURSTS = Producer("commits every 20 s", commits_ms=20 * SECOND_MS)

SHAPES = {
    shape.name: shape
    for shape in (
        Shape("all on time", _beside(on_time=4)),
        Shape("one silent, one empty", _beside(SILENT, EMPTY)),
        Shape("one sparse", _beside(SPARSE), settle_s=45),
        Shape("one lags 30 s", _beside(LAGS), settle_s=45),
        Shape("one lags 3 h", _beside(LAGS_FAR), settle_s=45),
        Shape("one commits every 20 s", _beside(BURSTS), settle_s=65),
        Shape("one of each", _beside(SILENT, SPARSE, LAGS, BURSTS), settle_s=65),
    )
}


@dataclass(frozen=True, slots=True)
class Case:
    """A shape, the trigger's interval (0: as fast as possible), and whether a second query, all on
    time, is in a group with it. `payload`: event time is in the value, and Kafka's timestamp is the
    moment of the append.
    """

    shape: Shape
    trigger_ms: int = 0
    group: bool = False
    payload: bool = False

    @property
    def name(self) -> str:
        """`one lags 30 s, every 5 s, in a group`."""
        every = f"every {self.trigger_ms // SECOND_MS} s" if self.trigger_ms else "as fast as possible"
        return ", ".join([self.shape.name, every, *["in a group"] * self.group, *["payload"] * self.payload])

    @property
    def topics(self) -> tuple[Shape, ...]:
        """The shape of each query's topic."""
        return (self.shape, SHAPES["all on time"]) if self.group else (self.shape,)


def cases() -> list[Case]:
    """All of them."""
    alone = [Case(shape) for shape in SHAPES.values()]
    some = [SHAPES[name] for name in ("all on time", "one silent, one empty", "one lags 30 s")]
    triggers = [Case(shape, trigger_ms=every) for every in (SECOND_MS, 5 * SECOND_MS) for shape in some]
    groups = [Case(shape, group=True) for shape in some] + [Case(some[1], trigger_ms=SECOND_MS, group=True)]
    return [*alone, *triggers, *groups, *(Case(shape, payload=True) for shape in some)]
