"""The outcome of one live topic, in plain Spark and aligned, and the claims that do not hold. Pure
functions of the feeds and of the rows that the queries got.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from benchmarks.live.shapes import Case, may_wait_ms

TOLERANCE_S = 0.2
REPORTS_S = 1.0  # in a group the news of who lags is up to `update_interval_ms` old
LEAST_SHARE = 0.7  # of what arrives in plain Spark: bursts may fall to one side of the clock or the other
Written = Sequence[Sequence[tuple[int, int]]]
"""`(made, stamp)` in ms by partition and offset."""


@dataclass(frozen=True, slots=True)
class Fed:
    """One topic: its records, the first live offset of each partition, and whether the shape is
    about a partition.
    """

    written: Written
    live_from: Sequence[int]
    odd: Sequence[bool]


class Freshness(NamedTuple):
    """Seconds from a record's making to foreachBatch, of so many records; None where there are
    none.
    """

    records: int
    p50: float | None
    p99: float | None

    @classmethod
    def of(cls, seconds: Sequence[float]) -> "Freshness":
        """By the nearest rank."""
        ranked = sorted(seconds)
        p50, p99 = (ranked[-(-len(ranked) * share // 100) - 1] if ranked else None for share in (50, 99))
        return cls(len(ranked), p50, p99)


@dataclass(frozen=True, slots=True)
class Way:
    """Plain Spark or aligned. `others`: the partitions on time; `odd`: those that the shape is
    about. `lost` of `rows`: rows made in the measured time that were read. `lost_before`: rows that
    came live before it, while producers had not shown yet how they are.
    """

    others: Freshness
    odd: Freshness
    rows: int
    lost: int
    lost_before: int
    batches: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """One case. `may_wait_s`: so much further behind than in plain Spark the partitions on time may
    be, and `odd_may_wait_s` the others.
    """

    case: str
    native: Way
    aligned: Way
    may_wait_s: float
    odd_may_wait_s: float


def outcome(
    case: Case, feds: Mapping[str, Fed], told: Mapping[str, Mapping[str, Any]], drift_ms: int, span_ms: tuple[int, int]
) -> Outcome:
    """`told`: the applications' output, by way and topic. `span_ms`: the measured span of the wall
    clock.
    """
    holds = max(shape.holds_ms for shape in case.topics)
    waits = [
        (_may_wait_s(may_wait_ms(p, holds, drift_ms), case), shape.odd(n))
        for shape in case.topics
        for n, p in enumerate(shape.producers)
    ]
    native, aligned = (way(feds, told[name], span_ms) for name in ("native", "aligned"))
    others, odd = ([wait for wait, is_odd in waits if is_odd is kind] for kind in (False, True))
    return Outcome(case.name, native, aligned, max(others, default=0.0), max(odd, default=0.0))


def _may_wait_s(wait_ms: int, case: Case) -> float:
    return wait_ms / 1000 + (REPORTS_S if case.group and wait_ms else 0.0)


def way(feds: Mapping[str, Fed], told: Mapping[str, Any], span_ms: tuple[int, int]) -> Way:
    """Of all queries of one application together. Raises `ValueError` where a row came twice or is
    none.
    """
    begins, until = span_ms
    seconds: dict[bool, list[float]] = {False: [], True: []}
    rows = lost = lost_before = 0
    for topic, fed in feds.items():
        got: set[tuple[int, int]] = set()
        for partition, offset, made, at in told[topic]["rows"]:
            if (
                (partition, offset) in got
                or offset >= len(fed.written[partition])
                or made != fed.written[partition][offset][0]
            ):
                raise ValueError(f"{topic}-{partition} at {offset}: a row that came twice, or that nobody wrote")
            got.add((partition, offset))
            if begins <= at < until:
                seconds[fed.odd[partition]].append((at - made) / 1000)
        for partition, end in ((int(partition), end) for partition, end in told[topic]["ends"].items()):
            for offset in range(fed.live_from[partition], end):
                measured = begins <= fed.written[partition][offset][0] < until
                missing = (partition, offset) not in got
                rows, lost, lost_before = (
                    rows + measured,
                    lost + (missing and measured),
                    lost_before + (missing and not measured),
                )
    batches = sum(told[topic]["batches"] for topic in feds)
    return Way(Freshness.of(seconds[False]), Freshness.of(seconds[True]), rows, lost, lost_before, batches)


def broken(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the claims that do not hold, a line each."""
    return list(chain.from_iterable(map(_broken, outcomes)))


def _broken(of: Outcome) -> Iterator[str]:
    native, aligned = of.native, of.aligned
    if not native.others.records or aligned.others.records < LEAST_SHARE * native.others.records:
        yield (
            f"{of.case}: {aligned.others.records:,} rows of the partitions on time came, and in plain Spark "
            f"{native.others.records:,}"
        )
        return
    for name, more in (("half", more_at(of, "p50")), ("99 of 100", more_at(of, "p99"))):
        if more is not None and more > of.may_wait_s + TOLERANCE_S:
            yield (
                f"{of.case}: {name} of the rows are up to {more:.2f} s further behind than in plain Spark, and may be "
                f"{of.may_wait_s:g} s"
            )
    if aligned.odd.p50 is not None and native.others.p50 is not None:
        more = aligned.odd.p50 - native.others.p50
        if more > of.odd_may_wait_s + TOLERANCE_S:
            yield (
                f"{of.case}: half of the odd partitions' own rows are up to {more:.2f} s behind, and may be "
                f"{of.odd_may_wait_s:g} s"
            )
    if aligned.lost:
        yield f"{of.case}: {aligned.lost:,} of {aligned.rows:,} rows lost, though all producers had shown how they are"


def more_at(of: Outcome, rank: str) -> float | None:
    """By how many seconds the partitions on time are further behind than in plain Spark, at "p50"
    or "p99".
    """
    native, aligned = (getattr(each.others, rank) for each in (of.native, of.aligned))
    return None if native is None or aligned is None else aligned - native
