"""The outcome of one run of one system, and the medians of all of its runs."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.flink.trace import Trace, least_open_rows
from benchmarks.skew.history import rows_lost

PLAIN, LONGER, LOCKGATE = "plain Spark", "plain Spark, longer delay", "lockgate"
UNALIGNED, DEFAULTS, BEST = "Flink, unaligned", "Flink, aligned, defaults", "Flink, aligned, best settings"
SYSTEMS = (PLAIN, LONGER, LOCKGATE, UNALIGNED, DEFAULTS, BEST)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. `lost`: of `rows`; None where the run was ended before its logs. `beyond` and
    `open_rows`: as in `Trace`, of `records`. Rates are records a second.
    """

    workload: str
    system: str
    records: int
    rows: int
    lost: int | None
    delay_ms: int
    drift_ms: int
    beyond: int
    open_rows: int
    least_open_rows: int
    by_clock: float
    by_processor: float
    hours_a_minute: float


def outcome(
    system: str, trace: Trace, counted: Mapping[int, int], max_drift_ms: int, delay_ms: int | None = None
) -> Outcome:
    """Measure a run. Raises `ValueError` where it has rows that are none."""
    shape, (by_clock, by_processor) = trace.shape, trace.steady
    return Outcome(
        workload=shape.name,
        system=system,
        records=shape.records,
        rows=sum(shape.expected.values()),
        lost=rows_lost(shape, counted) if trace.whole else None,
        delay_ms=shape.delay_ms if delay_ms is None else delay_ms,
        drift_ms=trace.drift_ms,
        beyond=trace.beyond(max_drift_ms),
        open_rows=trace.open_rows,
        least_open_rows=least_open_rows(shape),
        by_clock=by_clock,
        by_processor=by_processor,
        hours_a_minute=trace.hours_a_minute,
    )


def median(runs: Sequence[Outcome], figure: str) -> float:
    """Return the median of a figure of some runs."""
    return float(statistics.median(getattr(each, figure) for each in runs))
