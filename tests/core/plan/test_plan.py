import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate import watermark
from lockgate.errors import InvalidValue
from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Limit, Plan, PlannedState
from support.logs_in_memory import LogsInMemory

REPLAY = 10**12  # a wall clock far above every event time here
BOUNDS = Bounds(max_drift=1000, idle_timeout=60_000)


def draft(logs: LogsInMemory, *, budget: int | None = None, now: int = REPLAY, bounds: Bounds = BOUNDS) -> Draft[str]:
    return Draft(LogAnswers(logs.backlogs(now), logs, bounds, {0: budget}))


def ends(plan: Plan[str]) -> dict[str, int]:
    return {split: made.end for split, made in plan.splits.items()}


def test_a_split_that_lags_gets_the_whole_budget_until_it_is_level() -> None:
    logs = LogsInMemory.from_start(ahead=range(1000, 2000), behind=range(100))
    plan = draft(logs, budget=100).plan()
    assert ends(plan) == {"ahead": 0, "behind": 100}
    assert plan.limit is Limit.BUDGET


def test_all_splits_are_read_up_to_one_event_time() -> None:
    logs = LogsInMemory.from_start(dense=range(1000), sparse=range(0, 1000, 10))
    plan = draft(logs, budget=55).plan()
    assert ends(plan) == {"dense": 50, "sparse": 5}
    assert plan.target == 49


def test_without_a_budget_everything_is_read_in_one_batch() -> None:
    logs = LogsInMemory.from_start(a=range(50), b=range(7000, 9000))
    plan = draft(logs).plan()
    assert ends(plan) == {"a": 50, "b": 2000}
    assert plan.limit is Limit.END


def test_the_budget_of_each_source_holds_for_itself() -> None:
    logs = LogsInMemory.from_start(orders=range(1000), payments=range(1000))
    joint = Draft(LogAnswers(logs.backlogs(REPLAY, {"orders": 0, "payments": 1}), logs, BOUNDS, {0: 500, 1: 10}))
    assert ends(joint.plan()) == {"orders": 10, "payments": 10}


def test_one_timestamp_larger_than_the_budget_is_read_in_several_batches() -> None:
    logs = LogsInMemory.from_start(a=[5] * 100, b=[5] * 100)
    read = []
    while any(logs.positions[s] < logs.ends[s] for s in logs.ends):
        plan = draft(logs, budget=30).plan()
        read.append(plan.offsets)
        logs.positions.update(ends(plan))
    assert read == [30] * 6 + [20]


def test_group_ceiling_pauses_only_what_is_above_it() -> None:
    logs = LogsInMemory.from_start(ahead=range(500, 600), behind=range(600))
    plan = draft(logs).plan(ceiling=300)
    assert ends(plan) == {"ahead": 0, "behind": 301}
    assert plan.paused == {"ahead", "behind"}
    assert (plan.target, plan.ceiling, plan.limit) == (300, 300, Limit.GROUP)


def test_a_timestamp_larger_than_the_budget_is_not_begun_above_the_ceiling() -> None:
    logs = LogsInMemory.from_start(a=[500] * 100)
    assert draft(logs, budget=10).plan(ceiling=499).offsets == 0
    assert draft(logs, budget=10).plan(ceiling=500).offsets == 10


def test_an_open_transaction_stops_the_clock_of_its_split() -> None:
    logs = LogsInMemory.from_start(a=range(0, 100_000, 1000), b=[])
    backlogs = logs.backlogs(200_000)
    backlogs["b"] = type(backlogs["b"])(source=0, position=0, end=0, known_until=70_000)
    assert Draft(LogAnswers(backlogs, logs, BOUNDS, {0: None})).plan().target == 70_000 - 60_000 - 1 + 1000


def test_a_split_s_watermark_is_just_below_its_first_unread_record() -> None:
    logs = LogsInMemory({"a": [10, 20, 500]}, {"a": 2}, {"a": 3})
    assert draft(logs, bounds=Bounds(max_drift=1000, idle_timeout=60_000, disorder=7)).watermarks == {"a": 500 - 7 - 1}


def test_reach_is_never_above_the_last_event_time_in_the_logs() -> None:
    logs = LogsInMemory.from_start(a=[1, 2, 3], b=[4])
    assert draft(logs).reach == 4
    assert draft(logs, budget=2).reach == 2


def test_a_split_is_idle_once_it_was_caught_up_for_the_idle_timeout() -> None:
    logs = LogsInMemory({"a": [5]}, {"a": 1}, {"a": 1})
    states = []
    for since in (None, REPLAY - 59_999, REPLAY - 60_000):
        backlogs = logs.backlogs(REPLAY)
        backlogs["a"] = type(backlogs["a"])(source=0, position=1, end=1, known_until=REPLAY, caught_up_since=since)
        states.append(Draft(LogAnswers(backlogs, logs, BOUNDS, {0: None})).plan().splits["a"].state)
    assert states == [PlannedState.CAUGHT_UP, PlannedState.CAUGHT_UP, PlannedState.IDLE]


def test_paused_query_is_planned_again_without_asking_the_broker() -> None:
    logs = LogsInMemory.from_start(a=range(1000, 2000))
    made = draft(logs, budget=100)
    before = made.answers.look_ups
    assert made.plan(ceiling=500).offsets == 0
    assert made.answers.look_ups == before


@pytest.mark.parametrize(
    "bad", [{"max_drift": -1}, {"idle_timeout": -1}, {"disorder": -1}, {"max_drift": 5, "disorder": 5}]
)
def test_bounds_that_cannot_work_are_refused_by_name(bad: dict[str, int]) -> None:
    with pytest.raises(InvalidValue) as caught:
        Bounds(**{"max_drift": 10, "idle_timeout": 10, **bad})
    assert caught.value.field in bad


LOGS = st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(0, 5000), max_size=60), min_size=1)


@given(LOGS, st.integers(1, 50), st.integers(0, 400), st.integers(-100, 6000), st.data())
def test_no_plan_is_over_budget_above_the_ceiling_or_uneven(
    logs: dict[str, list[int]], budget: int, disorder: int, ceiling: int, data: st.DataObject
) -> None:
    view = LogsInMemory.from_start(**logs)
    view.positions = {split: data.draw(st.integers(0, len(log))) for split, log in logs.items()}
    plan = draft(view, budget=budget, bounds=Bounds(max_drift=1000, idle_timeout=0, disorder=disorder)).plan(ceiling)
    assert plan.offsets <= budget
    for split, made in plan.splits.items():
        batch = logs[split][made.position : made.end]
        assert all(event_time <= ceiling for event_time in batch)
        assert all(event_time <= plan.target + 1 for event_time in batch)
        if plan.offsets < budget and made.end < view.ends[split]:
            assert logs[split][made.end] > plan.target


@given(LOGS, st.integers(1, 50), st.integers(1, 1000))
def test_whenever_somebody_has_a_backlog_somebody_may_read(
    logs: dict[str, list[int]], budget: int, max_drift: int
) -> None:
    """Two readers in a strict group, each with its own query: whoever is lowest may always go on,
    so all is read in the end.
    """
    readers = [
        LogsInMemory.from_start(**{split: log for split, log in logs.items() if split in part}) for part in ("ab", "cd")
    ]
    bounds = Bounds(max_drift=max_drift, idle_timeout=0)
    while any(reader.positions[s] < reader.ends[s] for reader in readers for s in reader.ends):
        drafts = [draft(reader, budget=budget, bounds=bounds) for reader in readers if reader.logs]
        ceiling = watermark.add(min(w for s in drafts for w in s.watermarks.values()), max_drift)
        plans = [s.plan(ceiling) for s in drafts]
        assert any(plan.offsets for plan in plans)
        for reader, plan in zip([reader for reader in readers if reader.logs], plans, strict=True):
            reader.positions.update(ends(plan))


def test_reported_watermark_is_of_the_last_record_not_of_the_clock() -> None:
    logs = LogsInMemory({"done": [90_000], "open": [95_000]}, {"done": 1, "open": 0}, {"done": 1, "open": 1})
    made = draft(logs, now=100_000, bounds=Bounds(max_drift=100_000, idle_timeout=60_000, disorder=3))
    assert made.watermarks["done"] == 100_000 - 60_000 - 1
    assert made.reported_watermarks() == {"done": 90_000 - 3 - 1, "open": 95_000 - 3 - 1}


# -- records without a credible event time --

FAR = 10**15


def test_a_record_from_2099_moves_no_target_and_holds_nobody() -> None:
    logs = LogsInMemory.from_start(poisoned=[10, 20, FAR, 30, 40], other=range(100))
    logs.incredible = frozenset({FAR})
    plan = draft(logs, budget=25).plan()
    assert 20 < plan.target < 30
    assert ends(plan) == {"poisoned": 2, "other": plan.target + 1}
    assert ends(draft(logs).plan()) == {"poisoned": 5, "other": 100}


def test_split_without_credible_records_is_read_by_what_others_leave() -> None:
    logs = LogsInMemory.from_start(poison=[FAR] * 300, poison_too=[FAR] * 100, good=range(60))
    logs.incredible = frozenset({FAR})
    made = draft(logs, budget=100, now=90_000, bounds=Bounds(max_drift=100_000, idle_timeout=60_000))
    assert made.watermarks["poison"] == 90_000 - 60_000 - 1
    assert ends(made.plan()) == {"poison": 30, "poison_too": 10, "good": 60}
    assert made.plan(ceiling=watermark.MIN).offsets == 0


def test_splits_without_any_credible_record_are_read_in_proportion() -> None:
    logs = LogsInMemory.from_start(a=[FAR] * 75, b=[FAR] * 25)
    logs.incredible = frozenset({FAR})
    read = []
    while any(logs.positions[split] < logs.ends[split] for split in logs.ends):
        plan = draft(logs, budget=40).plan()
        read.append(plan.offsets)
        logs.positions.update(ends(plan))
    assert read == [40, 40, 20]


def test_log_that_was_asked_enough_gets_a_smaller_batch() -> None:
    logs = LogsInMemory.from_start(a=[n * n for n in range(10_000)])
    thorough = draft(logs, budget=5_000)
    logs.read_budget_spent = True
    sparing = draft(logs, budget=5_000)
    assert sparing.answers.look_ups < thorough.answers.look_ups
    assert 0 < sparing.plan().offsets < thorough.plan().offsets <= 5_000
