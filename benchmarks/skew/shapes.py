"""The shapes of the benchmark: the records of each partition's log, as pure functions of a seed.

All cover 24 hours of event time and are replayed: they lie in the log before a query starts. A
shape describes a producer (late, out for nine hours) in event time, not by the clock.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockgate_testbed.skew import HOUR_MS, T0_MS

Times = npt.NDArray[np.int64]
"""Event times (ms since the epoch) of one partition's records, by offset."""

HOURS = 24
SPAN_MS = HOURS * HOUR_MS
MINUTE_MS = 60_000
BATCHES = 15
JOIN_WITHIN_MS = 5 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class Topic:
    """`numbers`: of each record, by offset; the key of the record. `budget`: offsets a batch."""

    name: str
    logs: tuple[Times, ...]
    numbers: tuple[Times, ...]
    budget: int

    @property
    def records(self) -> int:
        """How many it holds."""
        return sum(len(log) for log in self.logs)


@dataclass(frozen=True, slots=True)
class Shape:
    """`delay_ms`: the query's watermark delay. `disorder_ms`: how far records of one partition are
    out of order, at most.

    With two topics the query is an inner join: each record of the first has one partner in the
    second, up to `JOIN_WITHIN_MS` later.
    """

    name: str
    topics: tuple[Topic, ...]
    delay_ms: int = 10 * MINUTE_MS
    disorder_ms: int = 0

    @property
    def records(self) -> int:
        """How many all topics hold."""
        return sum(topic.records for topic in self.topics)

    @property
    def expected(self) -> dict[int, int]:
        """The rows of an exact result by hour (0 to 23): records, or pairs by the hour of the
        first.
        """
        hours = (np.concatenate(self.topics[0].logs) - T0_MS) // HOUR_MS
        return {int(hour): int(count) for hour, count in zip(*np.unique(hours, return_counts=True), strict=True)}


def shapes(records: int, batches: int = BATCHES, seed: int = 1) -> Iterator[Shape]:
    """All of them, of about so many records each. `batches`: that a run takes at least."""
    rng = np.random.default_rng(seed)
    budget = max(1, records // batches)
    for name, make in _SHAPES.items():
        yield _single(name, make(rng, records), budget)
    yield _single("one timestamp, larger than a batch", _duplicates(rng, records, budget), budget)
    times = _disordered(rng, records)
    yield _single("out of order by up to 5 min", times, budget, delay_ms=15 * MINUTE_MS, disorder_ms=5 * MINUTE_MS)
    yield _join(rng, records, budget // 2)


def steady(name: str, records: int, weights: Sequence[float], batches: int = BATCHES, seed: int = 1) -> Shape:
    """Make a topic of steady producers of such densities. It is none of `shapes`: plain Spark
    keeps its partitions level by itself.
    """
    logs = _by_weight(np.random.default_rng(seed), records, weights)
    return _single(name, logs, max(1, records // batches))


def _single(name: str, logs: Sequence[Times], budget: int, **more: int) -> Shape:
    topic = Topic("skew-" + re.sub("[^a-z0-9]+", "-", name), tuple(logs), _numbers(logs), budget)
    return Shape(name, (topic,), **more)


def _numbers(logs: Sequence[Times]) -> tuple[Times, ...]:
    ends = np.cumsum([len(log) for log in logs])
    return tuple(np.arange(end - len(log), end, dtype=np.int64) for end, log in zip(ends, logs, strict=True))


def _random(rng: np.random.Generator, count: int, start: float = 0, end: float = HOURS) -> Times:
    """`count` event times at random between two hours, in order."""
    return np.sort(rng.integers(T0_MS + int(start * HOUR_MS), T0_MS + int(end * HOUR_MS), max(0, count)))


def _by_weight(rng: np.random.Generator, records: int, weights: Sequence[float]) -> list[Times]:
    """Steady producers of unlike densities. Spark, which shares a batch by unread offsets, keeps
    these level by itself.
    """
    return [_random(rng, int(records * weight / sum(weights))) for weight in weights]


def _leaning(rng: np.random.Generator, records: int, weights: Sequence[float]) -> list[Times]:
    """Every other producer is 7 times busier at midnight than a day later, and the others the other
    way round.
    """
    logs = _by_weight(rng, records, weights)
    return [np.sort(T0_MS + _lean((log - T0_MS) / SPAN_MS, 2.0 if n % 2 else -2.0)) for n, log in enumerate(logs)]


def _lean(even: npt.NDArray[np.float64], rate: float) -> Times:
    """Shares of a day, evenly at random, as ms of a day with a density that falls by
    exp(`rate`).
    """
    shares: npt.NDArray[np.float64] = -np.log1p(-even * -np.expm1(-rate)) / rate
    return np.minimum(shares * SPAN_MS, SPAN_MS - 1).astype(np.int64)


def _late_start(rng: np.random.Generator, records: int) -> list[Times]:
    """Let the last of six start at 06:00."""
    logs = _by_weight(rng, records, (1, 1, 2, 4, 8, 16))
    return [*logs[:-1], logs[-1][logs[-1] >= T0_MS + 6 * HOUR_MS]]


def _empty(rng: np.random.Generator, records: int) -> list[Times]:
    """Three of six hold nothing."""
    return _leaning(rng, records, (0, 1, 0, 0, 4, 16))


def _one_record(rng: np.random.Generator, records: int) -> list[Times]:
    """One of six holds a single record, of 12:00."""
    return [*_by_weight(rng, records, (1, 2, 4, 8, 16)), np.array([T0_MS + 12 * HOUR_MS])]


def _bursts(rng: np.random.Generator, records: int) -> list[Times]:
    """Each of six bursts for 20 minutes when its hour comes, and is all but silent between; bursts
    are of unlike size.
    """
    logs = []
    for turn in range(6):
        sizes = rng.dirichlet(np.full(HOURS // 6, 0.7)) * records / 6
        bursts = [
            _random(rng, int(size), hour, hour + 1 / 3) for size, hour in zip(sizes, range(turn, HOURS, 6), strict=True)
        ]
        logs.append(np.sort(np.concatenate([*bursts, _random(rng, 100)])))
    return logs


def _outage(rng: np.random.Generator, records: int) -> list[Times]:
    """Stop the producer of one of six from 06:00 to 15:00."""
    logs = _by_weight(rng, records, (6, 1, 2, 2, 4, 8))
    return [logs[0][~_between(logs[0], 6, 15)], *logs[1:]]


def _between(log: Times, start: float, end: float) -> npt.NDArray[np.bool_]:
    return (log >= T0_MS + start * HOUR_MS) & (log < T0_MS + end * HOUR_MS)


def _changing(rng: np.random.Generator, records: int) -> list[Times]:
    """Let the density of each of six rise and fall by 30 to 1, at its own time."""
    logs = []
    for phase in range(6):
        times = _random(rng, 2 * records // 6)
        wave = 0.5 + 0.5 * np.cos(2 * np.pi * ((times - T0_MS) / SPAN_MS * 2 - phase / 6))
        logs.append(times[rng.random(len(times)) < 1 / 30 + 29 / 30 * wave])
    return logs


def _duplicates(rng: np.random.Generator, records: int, budget: int) -> list[Times]:
    """At 05:00, 11:30 and 20:00 one timestamp is shared by two batches' worth of records."""
    logs = _leaning(rng, 6 * records // 10, (1, 1, 2, 4, 8, 16))
    many = 2 * budget // len(logs)
    moments = [np.full(many, T0_MS + int(hour * HOUR_MS), dtype=np.int64) for hour in (5, 11.5, 20)]
    return [np.sort(np.concatenate([log, *moments])) for log in logs]


def _disordered(rng: np.random.Generator, records: int) -> list[Times]:
    """Each record is appended up to 5 minutes after its place in order."""
    logs = _leaning(rng, records, (1, 1, 2, 4, 8, 16))
    return [log[np.argsort(log + rng.integers(0, 5 * MINUTE_MS, len(log)), kind="stable")] for log in logs]


def _join(rng: np.random.Generator, records: int, budget: int) -> Shape:
    """Two topics of three partitions; the second gets through a fourth of the first one's offsets a
    batch.
    """
    logs = _leaning(rng, records // 2, (1, 2, 4))
    orders = Topic("skew-orders", tuple(logs), _numbers(logs), 4 * max(1, budget))
    later = [log + rng.integers(0, JOIN_WITHIN_MS, len(log)) for log in logs]
    order = [np.argsort(times, kind="stable") for times in later]
    payments = Topic(
        "skew-payments",
        tuple(times[by] for times, by in zip(later, order, strict=True)),
        tuple(numbers[by] for numbers, by in zip(orders.numbers, order, strict=True)),
        max(1, budget),
    )
    return Shape("one slow topic of a join", (orders, payments))


_SHAPES: dict[str, Callable[[np.random.Generator, int], list[Times]]] = {
    "late start": _late_start,
    "empty partitions": _empty,
    "a single record": _one_record,
    "bursts by turns": _bursts,
    "9 h outage of one producer": _outage,
    "changing densities": _changing,
}
