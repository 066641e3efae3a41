from dataclasses import dataclass
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lockgate import watermark
from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Limit, Plan
from lockgate.plan.slices import Slice, plan_slice, slice_of
from lockgate.plan.windows import Windows, Zone
from support.examples import examples
from support.logs_in_memory import LogsInMemory

WINDOW = 100
WINDOWS = Windows(WINDOW)
REPLAY = 10**12
BOUNDS = Bounds(max_drift=1000, idle_timeout=60)


def draft(logs: LogsInMemory, *, budget: int | None = None, now: int = REPLAY) -> Draft[str]:
    return Draft(LogAnswers(logs.backlogs(now), logs, BOUNDS, {0: budget}))


def sliced(
    logs: LogsInMemory,
    *,
    budget: int | None = None,
    now: int = REPLAY,
    ceiling: int = watermark.MAX,
    holds: bool = False,
    whole_from: int = watermark.MIN,
) -> Plan[str]:
    return plan_slice(draft(logs, budget=budget, now=now), ceiling, WINDOWS, holds, whole_from)


def ends(plan: Plan[str]) -> dict[str, int]:
    return {split: made.end for split, made in plan.splits.items()}


def test_a_batch_holds_as_many_whole_windows_as_the_budget_allows() -> None:
    logs = LogsInMemory.from_start(a=range(1000), b=range(0, 1000, 10))
    plan = sliced(logs, budget=300)
    assert ends(plan) == {"a": 200, "b": 20}
    assert slice_of(plan, 0, None, WINDOWS) == Slice(0, 200, whole=True)


def test_window_larger_than_the_budget_is_read_in_parts() -> None:
    logs = LogsInMemory.from_start(a=range(1000))
    plan = sliced(logs, budget=60)
    part = slice_of(plan, 0, None, WINDOWS)
    assert ends(plan)["a"] == 60
    assert (part.end, part.whole) == (60, False)
    logs.positions = ends(plan)
    rest = sliced(logs, budget=60)
    assert slice_of(rest, part.end, part, WINDOWS) == Slice(60, 100, whole=False)


def test_a_window_that_fills_the_budget_to_the_last_record_is_read_whole() -> None:
    # the search for a target ends with 99 % of a budget
    windows, chance = Windows(100_000), Random(1)
    times = sorted(100_000 * window + at for window in range(5) for at in chance.sample(range(100_000), 1000))
    for budget in (1000, 1001, 1005):
        logs, before = LogsInMemory.from_start(a=times), None
        for window in range(4):
            made = draft(logs, budget=budget)
            plan = plan_slice(made, watermark.MAX, windows, holds_group=False)
            before = slice_of(plan, made.first, before, windows)
            assert before == Slice(100_000 * window, 100_000 * (window + 1), whole=True)
            logs.positions = ends(plan)


def test_a_window_is_read_once_the_clock_is_idle_timeout_past_its_end() -> None:
    logs = LogsInMemory.from_start(a=range(150))
    still_open = sliced(logs, now=100 + 59)
    assert (still_open.offsets, still_open.limit) == (0, Limit.SLICE)
    assert ends(sliced(logs, now=100 + 60)) == {"a": 100}


def test_query_held_by_another_waits_for_the_rest_of_the_window() -> None:
    logs = LogsInMemory.from_start(a=range(1000))
    waiting = sliced(logs, ceiling=50)
    assert (waiting.offsets, waiting.limit) == (0, Limit.GROUP)
    assert ends(sliced(logs, ceiling=250)) == {"a": 200}


def test_one_that_holds_its_group_itself_reads_up_to_the_ceiling() -> None:
    logs = LogsInMemory.from_start(a=range(1000))
    plan = sliced(logs, ceiling=50, holds=True)
    assert ends(plan) == {"a": 51}
    assert not slice_of(plan, 0, None, WINDOWS).whole


def test_a_replay_is_read_to_its_end_and_the_last_window_is_whole() -> None:
    logs = LogsInMemory.from_start(a=range(250), b=range(30))
    plan = sliced(logs)
    assert ends(plan) == {"a": 250, "b": 30}
    assert slice_of(plan, 0, None, WINDOWS).whole


def test_torn_windows_are_read_apart_from_those_behind_them() -> None:
    logs = LogsInMemory.from_start(a=range(30, 1000))
    plan = sliced(logs, whole_from=200)
    assert ends(plan) == {"a": 170}
    logs.positions = ends(plan)
    assert ends(sliced(logs, budget=250, whole_from=200)) == {"a": 370}, "it is no bound for what begins behind it"


def test_torn_windows_are_cut_by_budget_clock_and_group() -> None:
    logs = LogsInMemory.from_start(a=range(1000))
    assert ends(sliced(logs, budget=250, whole_from=900)) == {"a": 200}
    assert ends(sliced(logs, now=360, whole_from=900)) == {"a": 300}
    assert ends(sliced(logs, ceiling=450, whole_from=900)) == {"a": 400}


def test_windows_of_a_zone_end_where_its_clocks_say() -> None:
    logs = LogsInMemory.from_start(a=range(0, 3 * 86_400_000, 3_600_000))
    days = Windows(86_400_000, Zone(19_800_000))  # five and a half hours ahead
    plan = plan_slice(draft(logs, budget=30), watermark.MAX, days, holds_group=False)
    assert slice_of(plan, 0, None, days) == Slice(-19_800_000, 86_400_000 - 19_800_000, whole=True)


def test_without_a_backlog_nothing_is_cut() -> None:
    assert sliced(LogsInMemory.from_start(a=[])).limit is Limit.END


@dataclass(frozen=True)
class Batch:
    slice: Slice
    rows: list[int]


def read_all(logs: LogsInMemory, budget: int) -> list[Batch]:
    """Batch after batch of a replay, until nothing is left."""
    batches: list[Batch] = []
    while any(logs.positions[split] < end for split, end in logs.ends.items()):
        made = draft(logs, budget=budget)
        plan = plan_slice(made, watermark.MAX, WINDOWS, holds_group=False)
        assert plan.offsets > 0
        rows = [time for split, p in plan.splits.items() for time in logs.logs[split][p.position : p.end]]
        batches.append(Batch(slice_of(plan, made.first, batches[-1].slice if batches else None, WINDOWS), rows))
        logs.positions = ends(plan)
    return batches


@examples(300)
@given(st.lists(st.lists(st.integers(0, 2000), max_size=40).map(sorted), min_size=1, max_size=4), st.integers(1, 60))
def test_record_lies_in_its_slice_and_whole_windows_are_read_once(times: list[list[int]], budget: int) -> None:
    logs = LogsInMemory.from_start(**{f"s{i}": log for i, log in enumerate(times)})
    done: set[int] = set()
    for batch in read_all(logs, budget):
        windows = {time // WINDOW for time in batch.rows}
        assert all(batch.slice.start <= time < batch.slice.end for time in batch.rows)
        assert not windows & done
        if batch.slice.whole:
            done |= windows


@examples(100)
@given(
    st.lists(st.lists(st.integers(0, 2000), min_size=1, max_size=40).map(sorted), min_size=2, max_size=3),
    st.integers(1, 300),
    st.integers(1, 40),
)
def test_sliced_queries_that_wait_for_each_other_get_to_the_end(
    times: list[list[int]], drift: int, budget: int
) -> None:
    queries = [LogsInMemory.from_start(a=log) for log in times]
    rounds = 0
    while any(logs.positions["a"] < logs.ends["a"] for logs in queries):
        made = [draft(logs, budget=budget) for logs in queries]
        lowest = min(one.watermarks["a"] for one in made)
        plans = [plan_slice(one, watermark.add(lowest, drift), WINDOWS, one.watermarks["a"] <= lowest) for one in made]
        for logs, plan in zip(queries, plans, strict=True):
            logs.positions = ends(plan)
        rounds += 1
        assert any(plan.offsets for plan in plans), f"all wait in round {rounds}"
