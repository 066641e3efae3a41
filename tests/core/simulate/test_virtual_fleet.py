"""Simulated queries: the demo's own figures, Spark's rule for late rows counted record by record,
and what alignment promises.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue
from lockgate.simulate.fleet import RunOutcome, aligned, native
from lockgate.simulate.readers import NativeReader
from lockgate.simulate.sweep import Sweep, default_drifts, sweep
from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload
from lockgate.watermark import MIN
from support.examples import examples
from support.simulated import demo_group, demo_workload

MINUTE, HOUR = 60_000, 3_600_000


@pytest.mark.parametrize(
    ("records", "lost", "native_drift", "aligned_drift"),
    [
        # `make demo RECORDS=…`: rows_lost and peak_drift_ms of build/demo/summary.json
        (20_000, 3_126, 19_676_088, 230_901),
        (60_000, 9_300, 19_534_708, 72_639),
        (2_000_000, 308_818, 19_444_040, 1_941),
    ],
)
def test_the_simulation_gives_the_figures_that_the_demo_measured(
    records: int, lost: int, native_drift: int, aligned_drift: int
) -> None:
    workload = demo_workload(records)
    plain, level = native(workload), aligned(workload, 10 * MINUTE)
    assert (plain.rows, plain.lost, plain.peak_drift_ms) == (records, lost, native_drift)
    assert (level.rows, level.lost, level.peak_drift_ms) == (records, 0, aligned_drift)


def test_fast_query_of_demo_is_as_far_ahead_as_the_demo_measured() -> None:
    outcome = aligned(demo_group(2_000_000, batches_of_slow=50), HOUR)
    assert outcome.lost == 0
    assert outcome.peak_lead_ms == pytest.approx(3_600_000, rel=0.001), "two_queries.peak_drift_ms of the same summary"


@st.composite
def loads(draw: st.DrawFn, name: str = "q") -> QueryLoad:
    """Return a query over up to four splits, of old records or of live ones."""
    splits = []
    lag = st.none() if draw(st.booleans()) else st.integers(0, 20 * MINUTE)
    for number in range(draw(st.integers(1, 4))):
        first = draw(st.integers(0, 5 * HOUR))
        stretch = Stretch(draw(st.integers(1, 300)), first, first + draw(st.integers(0, 5 * HOUR)))
        splits.append(SplitLoad(f"{name}-{number}", (stretch,), draw(lag)))
    return QueryLoad(
        name=name,
        splits=tuple(splits),
        records_per_second=draw(st.sampled_from([10.0, 1_000.0])),
        delay_ms=draw(st.integers(10, 60)) * MINUTE,
        budget=draw(st.none() | st.integers(25, 200)),
        overhead_ms=draw(st.sampled_from([100, 60_000])),
        trigger_ms=draw(st.sampled_from([60_000, 600_000])),
        window_ms=draw(st.sampled_from([0, HOUR])),
        idle_timeout_ms=draw(st.sampled_from([MINUTE, 30 * MINUTE])),
    )


@given(loads())
@examples(60)
def test_late_rows_are_counted_as_record_by_record(load: QueryLoad) -> None:
    reader, now = NativeReader(load, 0), 10**9
    watermark, closed, lost = MIN, MIN, 0
    while (ends := reader.batch(now)) is not None:
        times = [
            reader.splits[name].time(offset)
            for name, end in ends.items()
            for offset in range(reader.positions[name], end)
        ]
        window = load.window_ms
        for time in times:
            behind = (time // window + 1) * window <= closed if window else time <= closed
            lost += closed != MIN and behind
        closed, watermark = watermark, max(watermark, *(time - load.delay_ms for time in times))
        reader.read(ends, now)
    assert reader.tally.lost == lost
    assert reader.is_done


@given(loads(), st.integers(1, 10))
@examples(60)
def test_a_drift_within_the_delay_loses_no_row_and_reads_all(load: QueryLoad, share: int) -> None:
    workload = Workload(queries=(load,))
    outcome = aligned(workload, max(1, load.delay_ms // share))
    assert (outcome.rows, outcome.lost) == (load.records, 0)


@given(loads("a"), loads("b"))
@examples(12, few=4)
def test_a_group_without_a_bound_takes_as_long_as_its_queries_alone(one: QueryLoad, other: QueryLoad) -> None:
    begin = 20 * HOUR
    alone = [aligned(Workload(queries=(each,), start_ms=begin), 1_000 * HOUR).seconds for each in (one, other)]
    both = aligned(Workload(queries=(one, other), start_ms=begin), 1_000 * HOUR).seconds
    # A reader that has to wait for the other one's first report looks again at its next trigger.
    triggers = (one.trigger_ms + other.trigger_ms) / 1_000
    assert both == pytest.approx(max(alone), abs=triggers + 2.0)


@given(loads("a"), loads("b"), st.integers(10, 60))
@examples(12, few=4)
def test_strict_query_reads_no_further_ahead_of_another_than_the_drift(
    one: QueryLoad, other: QueryLoad, minutes: int
) -> None:
    outcome = aligned(Workload(queries=(one, other), joint=False), minutes * MINUTE)
    assert outcome.rows == one.records + other.records
    assert outcome.peak_lead_ms <= minutes * MINUTE


def test_a_drift_beyond_the_delay_may_lose_rows_and_is_not_advised() -> None:
    found = sweep(demo_workload(60_000), [10 * MINUTE, 100 * HOUR])
    # An unbounded drift reads all splits up to one event time still, so take native Spark for it.
    broken = Sweep(native=found.native, aligned=(found.native,))
    assert found.native.lost > 0
    assert broken.advised is None
    assert found.advised is not None
    assert found.advised.max_drift_ms == 10 * MINUTE


def test_advice_is_the_smallest_drift_nearly_as_fast_and_fresh_as_any() -> None:
    late = 20 * MINUTE
    live = tuple(SplitLoad(f"s-{lag}", (Stretch(2_000, 0, 6 * HOUR),), lag) for lag in (0, late))
    load = QueryLoad(
        name="q", splits=live, records_per_second=100_000.0, delay_ms=30 * MINUTE, trigger_ms=MINUTE, overhead_ms=100
    )
    found = sweep(Workload(queries=(load,)), [MINUTE, 10 * MINUTE, 25 * MINUTE, 30 * MINUTE])
    assert found.advised is not None
    assert found.advised.max_drift_ms == 25 * MINUTE, "a smaller drift holds the punctual split for minutes"
    waits = [outcome.longest_wait_ms for outcome in found.aligned]
    assert waits == sorted(waits, reverse=True)


def test_progress_rises_to_the_end() -> None:
    shares: list[float] = []
    sweep(demo_workload(20_000), [MINUTE, 10 * MINUTE], shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_drifts_are_tried_by_the_delay_and_above_the_disorder() -> None:
    load = QueryLoad(
        name="q", splits=(SplitLoad("a", ()),), records_per_second=1.0, delay_ms=HOUR, disorder_ms=10 * MINUTE
    )
    workload = Workload(queries=(load,))
    assert default_drifts(workload) == (12 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR)
    with pytest.raises(InvalidValue, match="must be greater than the out-of-orderness of query q"):
        aligned(workload, 10 * MINUTE)
    with pytest.raises(InvalidValue, match="at least one"):
        sweep(workload, [])


def test_advice_is_the_closest_value_where_none_is_fast_and_fresh() -> None:
    def outcome(drift: int, seconds: float, wait_ms: int, lost: int = 0) -> RunOutcome:
        figures = {"peak_drift_ms": 0, "peak_lead_ms": 0, "state_rows": 0, "batches": 1}
        return RunOutcome(
            max_drift_ms=drift, rows=1_000, lost=lost, seconds=seconds, longest_wait_ms=wait_ms, **figures
        )

    slow, between, late = outcome(1, 20, 1_000), outcome(2, 12, 1_200), outcome(3, 10, 4_000)
    for tried in ((slow, between, late), (late, between, slow, outcome(4, 1, 1, lost=1))):
        assert Sweep(native=slow, aligned=tried).advised == between
