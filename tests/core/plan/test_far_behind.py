"""Which splits are too far behind for the others to wait, and what their watermarks are."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.far_behind import FAR_MS, far_behind
from lockgate.plan.model import Bounds
from lockgate.plan.producer_lag import ProducerLag
from support.logs_in_memory import LogsInMemory

SPLITS = ("a", "b", "c", "d")
NOW = 500_000 * 3_600_000


@given(
    st.dictionaries(st.sampled_from(SPLITS), st.integers(0, 4 * FAR_MS), max_size=4),
    st.sets(st.sampled_from(SPLITS)),
    st.integers(1, 2 * FAR_MS),
)
def test_only_a_far_split_holds_nobody_and_only_far_below_all_that_are_not(
    times: dict[str, int], far: set[str], bound: int
) -> None:
    far &= times.keys()
    others = [time for split, time in times.items() if split not in far]
    for split in times:
        released = split in far and bool(others) and all(time > times[split] + bound for time in others)
        assert (split in far_behind(times, far, bound)) == released


def test_where_all_producers_are_far_behind_they_wait_for_each_other() -> None:
    assert far_behind({"a": 0, "b": 3 * FAR_MS}, {"a", "b"}) == frozenset()


def test_a_lag_of_more_than_a_day_is_not_remembered() -> None:
    lag = ProducerLag(limit=3_600_000)
    for _ in range(3):
        lag.learn(NOW - 1_000, NOW)
    assert lag.remembered(NOW) == 0
    assert lag.state.last == NOW - 1_000


def test_a_far_split_reports_the_watermark_that_the_clock_gives_it() -> None:
    view = LogsInMemory.from_start(a=[1, 2], b=[NOW])
    backlogs = {split: replace(backlog, lag_bound=500) for split, backlog in view.backlogs(NOW).items()}
    bounds = Bounds(max_drift=1_000, idle_timeout=0)
    held = Draft(LogAnswers(backlogs, view, bounds, {0: None}))
    assert min(held.reported_watermarks().values()) == 0
    backlogs["a"] = replace(backlogs["a"], far_behind=True)
    free = Draft(LogAnswers(backlogs, view, bounds, {0: None}))
    assert free.reported_watermarks() == {"a": NOW - 501, "b": NOW - 1}
    assert {split: made.end for split, made in free.plan().splits.items()} == {"a": 2, "b": 1}
