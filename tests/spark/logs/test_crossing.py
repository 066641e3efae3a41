"""What look-ups cannot see is found by single records: against a plain search through lists, and
how many reads it takes.
"""

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Head, Plan
from lockgate_spark.event_times import Credible
from lockgate_spark.logs import kafka, requests
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.points import Points
from lockgate_spark.logs.unread import Key, Unread
from support.logs_in_memory import LogsInMemory
from support.runs import JvmLogInMemory, SourceInMemory

FAR, NONE = 4_070_908_800_000, -1
CREDIBLE = Credible(0, 10**6)
SORTED = st.lists(st.integers(0, 500), max_size=40).map(sorted)


def log_over(log: list[int], *more: list[int]) -> KafkaSplitLog:
    logs = {f"t-{n}": records for n, records in enumerate((log, *more))}
    made = KafkaSplitLog(JvmLogInMemory(logs))
    made.begin_plan(CREDIBLE)
    made.set_splits(logs)
    return made


@st.composite
def poisoned(draw: st.DrawFn) -> list[int]:
    log: list[int] = []
    for event_time in draw(SORTED):
        log += [draw(st.sampled_from((FAR, NONE)))] * draw(st.sampled_from((0, 0, 0, 1, 2, 9))) + [event_time]
    return log + [FAR] * draw(st.integers(0, 3))


@given(poisoned(), poisoned(), st.data())
def test_the_first_credible_record_above_a_time_is_found_among_any_others(
    a: list[int], b: list[int], data: st.DataObject
) -> None:
    log = log_over(a, b)
    positions = {f"t-{n}": data.draw(st.integers(0, len(records))) for n, records in enumerate((a, b))}
    plain = LogsInMemory(
        {"t-0": a, "t-1": b}, positions, {"t-0": len(a), "t-1": len(b)}, incredible=frozenset({FAR, NONE})
    )
    heads = log.heads(positions, plain.ends)
    assert heads == plain.heads()
    for event_time in data.draw(st.lists(st.integers(0, 501), max_size=4)):
        found, expected = log.first_after(event_time, positions, plain.ends), plain.first_after(event_time)
        for split in expected.keys() | (found.keys() & heads.keys()):
            assert found[split].event_time == expected[split].event_time
            between = range(*sorted((found[split].offset, expected[split].offset)))
            assert all(not CREDIBLE.has(plain.logs[split][offset]) for offset in between), (
                "apart by nothing that is aligned"
            )


@given(
    st.integers(1, 3),
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 30)), min_size=1, max_size=12),
    st.integers(0, 400),
)
def test_a_stretch_longer_than_one_read_is_passed_over(
    most: int, stretches: list[tuple[int, int]], event_time: int
) -> None:
    records = [record for n, (good, bad) in enumerate(stretches) for record in [40 * n] * good + [FAR] * bad]
    log, ends = log_over([0, FAR, *records]), {"t-0": len(records) + 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests, "MOST_PASSED", most)
        log.heads({"t-0": 0}, ends)
        found = log.first_after(event_time, {"t-0": 0}, ends)
    times = [(0, 0), *((offset + 2, time) for offset, time in enumerate(records) if time != FAR)]
    above = [time for _, time in times if time > event_time]
    assert [head.event_time for head in found.values()] == above[:1]
    if above:
        last_below = max(offset for offset, time in times if time <= event_time)
        assert last_below < found["t-0"].offset <= next(offset for offset, time in times if time > event_time)


def test_even_log_takes_few_reads_and_fewer_once_it_is_known() -> None:
    log, ends = log_over([0, FAR, *range(0, 1_000_000, 10)]), {"t-0": 100_002}
    log.heads({"t-0": 0}, ends)
    asked = []
    for event_time in (345_678, 345_999, 345_700):
        before = log.requests.made
        log.first_after(event_time, {"t-0": 0}, ends)
        asked.append(log.requests.made - before)
    assert asked[0] <= 10
    assert max(asked[1:]) <= 8


@pytest.mark.parametrize("most", [4, kafka.MOST_READS])
def test_plan_over_many_poisoned_splits_is_aligned_in_bounded_reads(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "MOST_READS", most)
    plan, source = planned_over_poison()
    assert 0 < plan.offsets <= 7_777
    for (_, split), made in plan.splits.items():
        records = source.records[split]
        assert all(time <= plan.target or time == FAR for time in records[: made.end])
        assert made.end == len(records) or records[made.end] > plan.target
    assert source.log.requests.made <= most + 4 * 2 * log2(5_000)


def test_after_its_share_of_reads_a_plan_takes_a_smaller_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    thorough, asked_much = planned_over_poison()
    monkeypatch.setattr(kafka, "MOST_READS", 4)
    sparing, asked_little = planned_over_poison()
    assert asked_little.log.requests.made < asked_much.log.requests.made
    assert sparing.offsets < thorough.offsets


def planned_over_poison() -> tuple[Plan[Key], SourceInMemory]:
    """A plan for 7,777 offsets of twenty splits, in each of which a record from 2099 hides all that
    follows.
    """
    source = SourceInMemory({f"t-{n}": [0, FAR, *(k * k // (n + 1) for k in range(1, 5_000))] for n in range(20)})
    unread = Unread.ask({0: source}, {0: source.initial()}, 10**12, Credible(0, 10**9))
    return Draft(
        LogAnswers(unread.backlogs(), unread, Bounds(max_drift=1_000, idle_timeout=60_000), {0: 7_777})
    ).plan(), source


def test_highest_time_is_of_credible_records_only() -> None:
    log = log_over([5, 30, FAR, 20, *[FAR] * 50], [FAR], [7, NONE])
    assert log.highest({"t-0": 54, "t-1": 1, "t-2": 2}) == {"t-0": 20, "t-2": 7}


def test_stretches_that_touch_are_counted_once() -> None:
    points = Points()
    for offset, records in ((10, 5), (12, 5), (40, 1), (8, 3)):
        points.meet(Head(offset, FAR), records)
    assert (points.met(0, 100), points.met(10, 12), points.met(17, 40)) == (10, 2, 0)
    points.forget_below(20)
    assert points.met(0, 100) == 1
    assert points.first_met == Head(10, FAR)
