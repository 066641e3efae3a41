"""Who holds whom, and for how long: to the ms, with the clock as an argument."""

import pytest

from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Backlog, Bounds, Limit, PlannedState
from support.logs_in_memory import LogsInMemory

NOW = 10_000_000
BOUNDS = Bounds(max_drift=1_000, idle_timeout=60_000)


def draft(logs: LogsInMemory, now: int, since: int | None = None) -> Draft[str]:
    """`since`: wall clock since when split `slow` is caught up."""
    backlogs = logs.backlogs(now)
    slow = backlogs["slow"]
    if since is not None:
        backlogs["slow"] = Backlog(
            source=0, position=slow.position, end=slow.end, known_until=now, caught_up_since=since
        )
    return Draft(LogAnswers(backlogs, logs, BOUNDS, {0: None}))


def live(behind: int) -> LogsInMemory:
    """Split `slow` is read to its end, and its last record is `behind` ms old; split `fast` has a
    record every ms up to now.
    """
    logs = LogsInMemory.from_start(slow=[NOW - behind], fast=range(NOW - 5_000, NOW))
    logs.positions["slow"] = 1
    return logs


@pytest.mark.parametrize(
    ("behind", "target"),
    [
        (3_000, NOW - 3_000 - 1 + 1_000),  # by its last record
        (60_000, NOW - 60_000 - 1 + 1_000),  # by both
        (10**6, NOW - 60_000 - 1 + 1_000),  # by the clock
    ],
)
def test_silent_live_split_holds_the_others_by_its_record_or_the_clock(behind: int, target: int) -> None:
    made = draft(live(behind), NOW)
    assert made.horizon == target
    assert made.plan().limit is Limit.HORIZON
    assert made.slowest == "slow"


def test_reach_is_bounded_by_the_readers_own_silent_split() -> None:
    made = draft(live(behind=3_000), NOW)
    assert made.reach == made.horizon == NOW - 3_000 - 1 + 1_000
    assert made.horizon < NOW - 1, "the logs hold later records"


def test_clock_releases_records_held_by_a_silent_split_to_the_ms() -> None:
    logs = live(behind=10**6)
    last = NOW - 1
    # the wall clock at which the horizon is the last record of the other
    free = last - 1_000 + 60_000 + 1
    assert draft(logs, free - 1).plan().paused == {"fast"}
    assert draft(logs, free).plan().paused == frozenset()


def test_idle_split_with_a_new_record_is_active_and_not_late() -> None:
    logs = live(behind=100_000)
    before = draft(logs, NOW, since=NOW - 60_000).plan()
    assert before.splits["slow"].state is PlannedState.IDLE
    came = LogsInMemory(
        {**logs.logs, "slow": [NOW - 100_000, NOW - 59_000]}, dict(logs.positions), {**logs.ends, "slow": 2}
    )
    after = draft(came, NOW + 1).plan()
    assert (after.splits["slow"].state, after.splits["slow"].end) == (PlannedState.ACTIVE, 2)
    assert before.target - BOUNDS.max_drift < NOW - 59_000


@pytest.mark.parametrize("slow", [[], [0]])
def test_an_empty_or_ended_split_never_holds_up_a_replay(slow: list[int]) -> None:
    logs = LogsInMemory.from_start(slow=slow, fast=range(0, 9_000_000, 1_000))
    logs.positions["slow"] = len(slow)
    assert draft(logs, NOW).plan().limit is Limit.END
