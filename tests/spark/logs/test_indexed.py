"""A source that no look-up knows the event times of: its sparse index against a plain search, its
bound, and how often it reads.
"""

import logging
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.answers import MOST_LOOK_UPS, LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Head
from lockgate_spark import Alignment
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.kafka import MOST_READS_OF_PAYLOADS, SAMPLED, KafkaSplitLog
from lockgate_spark.logs.points import MOST, Points
from lockgate_spark.logs.unread import Unread
from lockgate_spark.planning import bounds
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.telemetry.observer import Observer
from support.logs_in_memory import LogsInMemory
from support.runs import JvmLogInMemory, RunInMemory, SourceInMemory
from support.sessions import TimeInMemory

WINDOWS = st.sampled_from((1, 2, 3, 7, 50))
ORDERED = st.lists(st.integers(0, 500), max_size=60).map(sorted)
DISORDER = 20
DISORDERED = st.lists(st.tuples(st.integers(0, 500), st.integers(0, DISORDER)), max_size=60).map(
    lambda log: [event_time + late for event_time, late in sorted(log)]
)


def indexed(*logs: list[int], window: int) -> KafkaSplitLog:
    records = {f"t-{n}": log for n, log in enumerate(logs)}
    made = KafkaSplitLog(JvmLogInMemory(records, window=window), in_payload=True)
    made.begin_plan(Credible(0, 10**13))
    made.set_splits(records)
    return made


@given(ORDERED, ORDERED, WINDOWS, st.data())
def test_in_an_ordered_log_every_answer_is_the_first_record_above_the_time(
    a: list[int], b: list[int], window: int, data: st.DataObject
) -> None:
    log = indexed(a, b, window=window)
    positions = {f"t-{n}": data.draw(st.integers(0, len(records))) for n, records in enumerate((a, b))}
    plain = LogsInMemory({"t-0": a, "t-1": b}, positions, {"t-0": len(a), "t-1": len(b)})
    assert log.heads(positions, plain.ends) == plain.heads()
    for event_time in data.draw(st.lists(st.integers(0, 501), max_size=4)):
        assert log.first_after(event_time, positions, plain.ends) == plain.first_after(event_time)
    assert log.highest(plain.ends).items() <= plain.highest().items()


@given(DISORDERED, WINDOWS, st.lists(st.integers(0, 501), min_size=1, max_size=6))
def test_batch_boundary_is_off_by_the_out_of_orderness_at_most(log: list[int], window: int, times: list[int]) -> None:
    made, ends = indexed(log, window=window), {"t-0": len(log)}
    made.heads({"t-0": 0}, ends)
    for event_time in times:
        found = made.first_after(event_time, {"t-0": 0}, ends)
        cut = found["t-0"].offset if found else len(log)
        assert max(log[:cut], default=0) <= event_time + DISORDER
        assert min(log[cut:], default=999) > event_time - DISORDER
    assert 0 <= made.learned["t-0"].points.disorder <= DISORDER


@given(st.integers(1, 100_000), st.integers(1, 50_000), st.sampled_from((1, 10, 500)))
def test_one_crossing_takes_no_more_reads_than_twice_the_logarithm(target: int, square: int, window: int) -> None:
    log, ends = indexed([n * n // square for n in range(20_000)], window=window), {"t-0": 20_000}
    log.heads({"t-0": 0}, ends)
    before = log.requests.made
    log.first_after(target, {"t-0": 0}, ends)
    assert log.requests.made - before <= 2 * log2(20_000) + 2


def test_once_the_pace_is_known_a_plan_reads_twice_and_fills_its_budget() -> None:
    source = SourceInMemory({f"t-{n}": [k * (n + 1) for k in range(50_000 // (n + 1))] for n in range(8)}, budget=5_000)
    source.jvm.window = 200
    source.log = KafkaSplitLog(source.jvm, in_payload=True)
    positions, learned, reads, filled = source.initial(), None, [], []
    for _ in range(12):
        before = source.log.requests.made
        unread = Unread.ask({0: source}, {0: positions}, 10**12, Credible(0, 10**9))
        draft = Draft(
            LogAnswers(unread.backlogs(), unread, Bounds(max_drift=1_000, idle_timeout=60_000), {0: 5_000}, learned)
        )
        plan, learned = draft.plan(), draft.answers.curve
        positions = {split: made.end for (_, split), made in plan.splits.items()}
        source.log.remember_plan({split: made.next for (_, split), made in plan.splits.items() if made.next})
        reads.append(source.log.requests.made - before)
        filled.append(plan.offsets)
    assert max(reads[2:]) <= 2
    assert all(0.99 * 5_000 <= offsets <= 5_000 for offsets in filled)


@given(
    st.lists(st.lists(st.integers(0, 3_000), min_size=1, max_size=300).map(sorted), min_size=1, max_size=4),
    st.integers(1, 400),
)
def test_plan_over_any_log_bounds_its_reads_and_stops_at_the_target(logs: list[list[int]], budget: int) -> None:
    source = SourceInMemory({f"t-{n}": log for n, log in enumerate(logs)}, budget=budget)
    source.log = KafkaSplitLog(source.jvm, in_payload=True)
    unread = Unread.ask({0: source}, {0: source.initial()}, 10**12, Credible(0, 10**9))
    plan = Draft(LogAnswers(unread.backlogs(), unread, Bounds(max_drift=500, idle_timeout=60_000), {0: budget})).plan()
    assert source.log.requests.made <= MOST_READS_OF_PAYLOADS + MOST_LOOK_UPS + 4 * (2 * log2(300) + 2)
    assert 0 < plan.offsets <= budget
    for (_, split), made in plan.splits.items():
        left = source.records[split][made.end :]
        assert all(event_time <= plan.target + 1 for event_time in source.records[split][: made.end])
        assert plan.target + 1 in source.records[split] or not left or left[0] > plan.target


def test_the_index_drops_the_points_that_tell_least() -> None:
    points = Points()
    for offset in [*range(1_000), 5_000, 90_000]:
        points.add(Head(offset, 10 * offset))
    known = [points.around(10 * offset, 100_000)[0] for offset in (0, 5_000, 90_000)]
    assert known == [Head(0, 0), Head(5_000, 50_000), Head(90_000, 900_000)]
    assert sum(points.around(10 * offset, 100_000)[0] == Head(offset, 10 * offset) for offset in range(1_000)) < MOST


def test_a_record_that_is_older_than_one_before_it_shows_the_disorder() -> None:
    points = Points()
    for offset, event_time in ((10, 500), (30, 900), (20, 700)):
        points.add(Head(offset, event_time))
    assert points.disorder == 0
    points.add(Head(25, 650))
    assert points.disorder == 50
    points.add(Head(15, 990))
    assert points.disorder == 340


def test_sample_shows_times_that_fall_within_and_below_earlier_ones() -> None:
    points = Points()
    points.sample(0, 10, disorder=30, lowest=100, highest=500)
    assert points.disorder == 30
    points.sample(900, 940, disorder=5, lowest=450, highest=700)
    assert points.disorder == 50
    points.sample(940, 980, disorder=5, lowest=640, highest=650)
    assert points.disorder == 60  # the highest so far is not in the last one
    for start in (940, 960):
        points.sample(start, 990, disorder=5, lowest=0, highest=900)
        assert (
            points.disorder == 60
        )  # some of these once more: the split is paused, or was read on by less than a stretch
    points.sample(980, 1_000, disorder=0, lowest=630, highest=800)
    assert points.disorder == 70
    points.sample(0, 10, disorder=0, lowest=5, highest=9)
    assert points.disorder == 70  # made anew, its records are not behind the old ones


def test_splits_with_unread_records_are_sampled_in_turn() -> None:
    logs = [[100, 50, 90] for _ in range(3 * SAMPLED)]
    log = indexed(*logs, window=3)
    positions, ends = dict.fromkeys(log.learned, 0), dict.fromkeys(log.learned, 3)
    positions["t-3"] = 2  # one record has no order
    seen = []
    for _ in range(3):
        log.sample(positions, ends)
        seen.append(sum(learned.points.disorder == 50 for learned in log.learned.values()))
    assert seen == [SAMPLED, 2 * SAMPLED, 3 * SAMPLED - 1]
    assert log.learned["t-3"].points.disorder == 0


def planned(alignment: Alignment, jitter_ms: int, batches: int = 4) -> AlignedRun:
    """A session that has read a log, out of order by so much, to its end, and is held back by its
    horizon before another one's record.
    """
    jittered = [10**9 + 10 * n + (jitter_ms if n % 3 else 0) for n in range(4_000)]
    source = SourceInMemory({"t-0": jittered, "t-1": [2 * 10**9]}, budget=2_000)
    source.jvm.window = 30
    seconds = iter(range(10**6, 10**7, 5))
    time, positions = TimeInMemory(), source.initial()
    session = AlignedRun(alignment, RunInMemory(), clock=lambda: next(seconds), ticks=time.ticks, sleep=time.sleep)
    session.add(0, source)
    for _ in range(batches):
        positions = session.latest_offset(0, positions)
    return session


def test_where_no_disorder_is_set_the_plans_go_by_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ENOUGH", 0)
    session, trusting = (
        planned(
            Alignment(max_drift="1 minute", future_bound=None, idle_timeout="1 minute", max_out_of_orderness=d),
            jitter_ms=5_000,
        )
        for d in (None, 0)
    )
    assert session.view is not None
    assert trusting.view is not None
    assert 4_900 < session.planner.bounds.now().disorder == session.view.out_of_orderness <= 5_000
    assert session.view.read_limit == trusting.view.read_limit - session.planner.bounds.now().disorder


def test_growing_out_of_orderness_is_logged_while_plans_allow_for_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="lockgate")
    source = SourceInMemory({"t-0": [5_000, 0]})
    said = Observer(Alignment(), {0: source})
    source.jvm.window = 2
    source.log.set_splits(source.records)
    source.log.sample({"t-0": 0}, {"t-0": 2})
    for learned in (0, 1_000, 1_900, 2_001):
        said.warn(5_000, learned, (600_000, 600_000 - learned))
    begin, end = (
        "t-0: records are out of order by at least",
        "max_out_of_orderness is not set, so the plans allow for this, and a batch reads up to",
    )
    assert caplog.messages == [
        f"{begin} 1 s. {end} 9 min 59 s beyond the slowest partition instead of 10 min",
        f"{begin} 2 s. {end} 9 min 57 s beyond the slowest partition instead of 10 min",
    ]


def test_a_promised_disorder_is_what_the_plans_go_by_whatever_was_seen() -> None:
    session = planned(
        Alignment(max_drift="1 minute", future_bound=None, max_out_of_orderness="7 seconds"), jitter_ms=5_000
    )
    assert session.planner.bounds.now().disorder == 7_000


def test_plans_allow_for_out_of_orderness_up_to_half_of_the_drift(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = planned(Alignment(max_drift="1 minute", future_bound=None), jitter_ms=50_000)
    assert session.planner.bounds.now().disorder == 30_000
    assert "the plans allow for 30 s" in caplog.text


def test_split_beyond_promised_out_of_orderness_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    jittered = [10 * n + (5_000 if n % 3 else 0) for n in range(15_000)]
    source = SourceInMemory({"t-0": jittered, "t-1": sorted(jittered)}, budget=2_000)
    source.log = KafkaSplitLog(source.jvm, in_payload=True)
    session, positions = (
        AlignedRun(Alignment(max_drift="1 minute", max_out_of_orderness=1_000), RunInMemory()),
        source.initial(),
    )
    session.add(0, source)
    for _ in range(8):
        positions = session.latest_offset(0, positions)
    assert session.view is not None
    shown = {split.partition: split.out_of_orderness for split in session.view.partitions}
    assert 1_000 < shown["t-0"] <= 5_000
    assert shown["t-1"] == 0
    assert [record.args[0] for record in caplog.records] == ["t-0"]  # type: ignore[index]
