"""The estimate of rows saved, against an exact play of native Spark over the same records."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate_spark import Alignment
from lockgate_spark.event_times import Origin, QueryWatermark
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.telemetry.rows_saved import native_ends, operators_of
from support.runs import RunInMemory, SourceInMemory
from support.sessions import TimeInMemory

T0 = 1_767_225_600_000
NOW_MS = T0 + 30 * 24 * 3_600_000
MINUTE, HOUR = 60_000, 3_600_000

Logs = dict[str, list[int]]


def on(*sources: int, delay: int = 10 * MINUTE) -> QueryWatermark:
    return QueryWatermark("ts", delay, tuple(Origin(True, "timestamp", "timestamp", source) for source in sources))


def exact(sources: Sequence[tuple[Logs, int]], operators: Sequence[QueryWatermark], highest: bool = False) -> int:
    """Rows that native Spark reads at or below the watermark of the batch before."""
    positions = [dict.fromkeys(logs, 0) for logs, _ in sources]
    own, before, now, late = [0] * len(operators), 0, 0, 0
    while any(
        position < len(logs[split])
        for at, (logs, _) in zip(positions, sources, strict=True)
        for split, position in at.items()
    ):
        rows: list[list[int]] = []
        for at, (logs, budget) in zip(positions, sources, strict=True):
            ends = native_ends(at, {split: len(log) for split, log in logs.items()}, budget)
            rows.append([time for split, log in logs.items() for time in log[at[split] : ends[split]]])
            at.update(ends)
        late += sum(time <= before for read in rows for time in read)
        for i, operator in enumerate(operators):
            brought = [time for origin in operator.origins if origin.source is not None for time in rows[origin.source]]
            own[i] = max(own[i], max(brought, default=0) - operator.delay_ms)
        before, now = now, max(now, (max if highest else min)(own))
    return late


def session(
    sources: Sequence[SourceInMemory], operators: Sequence[QueryWatermark], highest: bool = False, mode: str = "align"
) -> AlignedRun:
    run = RunInMemory(available_now=sources[0].fixed_at is not None, found=list(operators), highest=highest)
    time = TimeInMemory()
    made = AlignedRun(
        Alignment(max_drift="10 minutes", mode=mode),
        run,
        clock=lambda: NOW_MS / 1000,
        ticks=time.ticks,
        sleep=time.sleep,
    )
    for i, source in enumerate(sources):
        made.add(i, source)
    return made


def told(
    sources: Sequence[tuple[Logs, int]], operators: Sequence[QueryWatermark], highest: bool = False, mode: str = "align"
) -> list[int | None]:
    """What each plan of an aligned run says."""
    made = [SourceInMemory(logs, budget).available_now(NOW_MS) for logs, budget in sources]
    one = session(made, operators, highest, mode)
    found, before, positions = [], [], [source.initial() for source in made]
    while positions != before:
        before, positions = (
            positions,
            [one.latest_offset(i, positions[i]) for i, source in enumerate(made)],
        )
        assert one.view is not None
        found.append(one.view.rows_saved)
    assert all(
        position == len(logs[split])
        for at, (logs, _) in zip(positions, sources, strict=True)
        for split, position in at.items()
    )
    return found


def estimate(sources: Sequence[tuple[Logs, int]], operators: Sequence[QueryWatermark], highest: bool = False) -> int:
    """What the last plan says."""
    return told(sources, operators, highest)[-1] or 0


def even(*splits: tuple[float, int]) -> Logs:
    """Splits that begin at some hour, with so many records up to the end of the day."""
    return {
        f"a-{split}": [T0 + int(begin * HOUR) + int(n * (24 - begin) * HOUR / records) for n in range(records)]
        for split, (begin, records) in enumerate(splits)
    }


@st.composite
def days(draw: st.DrawFn) -> Logs:
    """Splits that begin at some hour, each with a density of its own in every two hours."""
    logs = {}
    for split in range(draw(st.integers(2, 4))):
        begin, weight = draw(st.integers(0, 8)), draw(st.sampled_from((2, 5, 20)))
        each = [(hour, weight * draw(st.integers(1, 10))) for hour in range(begin, 24, 2)]
        logs[f"a-{split}"] = [
            T0 + hour * HOUR + n * 2 * HOUR // records for hour, records in each for n in range(records)
        ]
    return logs


# -- how good it is --


@settings(max_examples=40, deadline=None, derandomize=True)  # how good an estimate is, is no law
@given(days(), st.integers(30, 60), st.sampled_from((1, 10, 60)))
def test_estimate_for_a_random_day_is_off_by_ten_percent_at_most(logs: Logs, batches: int, delay: int) -> None:
    records = sum(map(len, logs.values()))
    day = [(logs, records // batches)]
    right, found = exact(day, [on(0, delay=delay * MINUTE)]), estimate(day, [on(0, delay=delay * MINUTE)])
    assert found == pytest.approx(right, rel=0.1, abs=0.02 * records)


@pytest.mark.parametrize("highest", [False, True])
def test_estimate_for_even_logs_is_right_for_several_sources(highest: bool) -> None:
    day = [(even((0, 3_000), (6, 1_000)), 200), (even((0, 1_500), (8, 500)), 100)]
    operators = [on(0), on(1, delay=30 * MINUTE), on(0, 1, delay=HOUR)]
    right = exact(day, operators, highest)
    assert right > 500
    assert estimate(day, operators, highest) == pytest.approx(right, rel=0.01)


def test_a_source_without_a_watermark_of_its_own_loses_nothing() -> None:
    one, other = even((0, 1_000), (6, 300)), even((0, 100), (8, 900))
    assert estimate([(one, 60), (other, 60)], [on(0)]) == estimate([(one, 60)], [on(0)])


def test_where_nothing_would_be_late_it_is_nought() -> None:
    assert estimate([(even((0, 1_000), (0, 300)), 50)], [on(0, delay=HOUR)]) == 0
    assert estimate([(even((0, 1_000), (6, 300)), 10_000)], [on(0)]) == 0, (
        "rows of one batch never make each other late"
    )


def test_without_room_to_wait_it_goes_by_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    day, operators = [(even((0, 3_000), (6, 1_000)), 100)], [on(0)]
    behind = told(day, operators)[10] or 0
    monkeypatch.setattr("lockgate_spark.telemetry.rows_saved.MOST_KEPT", 0)
    found = told(day, operators)
    assert (found[10] or 0) > behind, "the native query would be ahead, where little is known yet"
    assert found[-1] == pytest.approx(exact(day, operators), rel=0.05)


# -- as Spark does it --


def test_a_share_is_rounded_down_but_below_one_up() -> None:
    ends = native_ends({"a-0": 0, "a-1": 10, "a-2": 7}, {"a-0": 1_000, "a-1": 12, "a-2": 7}, 100)
    assert ends == {"a-0": 99, "a-1": 11, "a-2": 7}
    assert native_ends({"a-0": 5}, {"a-0": 50}, None) == {"a-0": 50}


def live(one: AlignedRun, source: SourceInMemory, *batches: tuple[str, int]) -> list[int | None]:
    """What is told after each plan; a batch is a record of one split, so many minutes before now,
    or none.
    """
    found, position = [], source.initial()
    for split, behind in batches:
        if split:
            source.records[split].append(NOW_MS - behind * MINUTE)
        position = one.latest_offset(0, position)
        assert position == {name: len(log) for name, log in source.records.items()}
        assert one.view is not None
        found.append(one.view.rows_saved)
    return found


def test_rows_are_filtered_with_the_watermark_of_the_batch_before() -> None:
    source = SourceInMemory({"a-0": [], "a-1": []})
    one = session([source], [on(0)])
    found = live(one, source, ("a-0", 60), ("a-0", 30), ("a-1", 59), ("a-1", 45), ("", 0), ("", 0))
    assert found == [0, 0, 0, 0, 1, 1], "the third batch is filtered with what the first one has brought"


def test_a_pause_lets_the_watermark_come_into_force() -> None:
    for pause, late in (((), 0), ((("", 0),), 1)):
        source = SourceInMemory({"a-0": [], "a-1": []})
        assert live(session([source], [on(0)]), source, ("a-0", 5), *pause, ("a-1", 20), ("", 0))[-1] == late


def test_a_topic_made_anew_is_played_from_its_beginning() -> None:
    logs, again = even((0, 1_000), (6, 300)), even((0, 1_500), (8, 400))
    source = SourceInMemory(logs, 50)
    one = session([source], [on(0)])
    position, found = source.initial(), [0]
    while position != {split: len(log) for split, log in logs.items()}:
        position = one.latest_offset(0, position)
        assert one.view is not None
        found.append(one.view.rows_saved or 0)
    source.records |= again
    position = dict.fromkeys(again, 0)
    for _ in range(100):
        position = one.latest_offset(0, position)
        found.append(one.view.rows_saved or 0)
    assert found == sorted(found)
    assert position == {split: len(log) for split, log in again.items()}
    assert found[-1] > 1.3 * exact([(logs, 50)], [on(0)])


def test_recreated_log_restarts_the_simulation_at_the_position() -> None:
    logs = even((0, 1_000), (6, 300))
    source = SourceInMemory(logs, 50)
    one, position = session([source], [on(0)]), source.initial()
    for _ in range(3):
        position = one.latest_offset(0, position)
    source.records["a-1"] = even((0, 1), (6, 25))["a-1"]
    assert position["a-1"] == 0
    while position != (position := one.latest_offset(0, position)):
        assert one.view is not None
    left = {"a-0": logs["a-0"][150:], "a-1": source.records["a-1"]}
    assert one.view.rows_saved == pytest.approx(exact([(left, 50)], [on(0)]), rel=0.1)


# -- when there is none --


@pytest.mark.parametrize(
    "operators",
    [
        [],
        [QueryWatermark("ts", MINUTE, (Origin(True, None, "date_trunc('second', timestamp)", 0),))],
        [on(0), QueryWatermark("ts", MINUTE, (Origin(False, "timestamp", "timestamp"),))],
    ],
)
def test_without_a_watermark_on_what_is_aligned_alone_there_is_none(operators: list[QueryWatermark]) -> None:
    in_payload = {0: False}
    assert operators_of(operators, in_payload) == []


def test_a_dry_run_has_none() -> None:
    day = even((0, 1_000), (6, 300))
    assert set(told([(day, 2_000)], [on(0)], mode="observe")) == {None}
