from dataclasses import replace

import pytest

from lockgate.group.group import Group, create
from lockgate.watermark import MIN
from lockgate.wire.events import Blocker, CatchUp, GroupConfig, OnLostReader, SplitReport, SplitState
from support.turns import NOW, decide, evaluate, evict, next_deadline, registered, reported

LEASE = 300
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)


def group_of(config: GroupConfig = CONFIG, **watermarks: int) -> Group:
    """A group whose sources have one reader each."""
    group = create("g", config, NOW)
    for source, watermark in watermarks.items():
        group = reported(group, source, watermark)
    return group


def test_the_watermark_is_the_lowest_and_the_ceiling_is_drift_above_it() -> None:
    decision = decide(group_of(a=30, b=7, c=12), NOW)
    assert (decision.group_watermark, decision.ceiling, decision.holders) == (7, 17, (("b", 0),))


def test_nobody_moves_until_every_expected_source_has_reported_once() -> None:
    group = group_of(replace(CONFIG, expected_sources=("a", "b")), a=5)
    assert (decide(group, NOW).group_watermark, decide(group, NOW).ceiling) == (MIN, MIN)
    assert evaluate(group, NOW)[1].blocked_by == (Blocker(source="b", subtask=0, watermark=MIN),)
    assert decide(reported(group, "b", MIN), NOW).ceiling == MIN
    assert decide(reported(group, "b", 9), NOW).ceiling == 15
    assert decide(evict(reported(group, "b", 9), "b", 0), NOW).ceiling == 15


def test_joint_goes_as_far_as_all_next_batches_and_strict_does_not() -> None:
    group = reported(reported(create("g", CONFIG, NOW), "a", 5, reach=90), "b", 30, reach=70)
    assert decide(group, NOW).ceiling == 70
    assert decide(replace(group, config=replace(CONFIG, catch_up=CatchUp.STRICT)), NOW).ceiling == 15


def test_the_holder_is_named_with_its_lowest_split_that_does_not_rest() -> None:
    splits = {
        "p-0": SplitReport(watermark=9),
        "p-1": SplitReport(watermark=5, state=SplitState.PAUSED),
        "p-2": SplitReport(watermark=MIN, state=SplitState.IDLE),
        "p-3": SplitReport(watermark=MIN, state=SplitState.FINISHED),
    }
    event = evaluate(reported(group_of(b=6), "a", 5, splits=splits), NOW)[1]
    assert event.blocked_by == (Blocker(source="a", subtask=0, watermark=5, split="p-1"),)


def test_first_eight_holders_at_the_minimum_are_named_in_order() -> None:
    group = create("g", CONFIG, NOW)
    for subtask in reversed(range(20)):
        group = reported(group, "a", 5 if subtask else 6, subtask=subtask)
    assert [held.subtask for held in evaluate(group, NOW)[1].blocked_by] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_revision_moves_exactly_when_a_value_does_and_always_up() -> None:
    group, first = evaluate(group_of(a=5), NOW)
    again, same = evaluate(group, NOW + 1)
    assert (again, same) == (group, first)
    _, other = evaluate(reported(group, "a", 4), NOW - 50)  # a clock that went back
    assert other.revision == first.revision + 1


def test_next_deadline_is_the_end_of_the_first_running_lease() -> None:
    group = reported(group_of(a=5), "b", 5, NOW + 50)
    assert [next_deadline(group, NOW + wait) for wait in (50, LEASE, LEASE + 50)] == [
        NOW + LEASE,
        NOW + LEASE + 50,
        None,
    ]


def test_grace_end_is_a_deadline_and_finished_readers_lease_is_none() -> None:
    group = reported(create("g", CONFIG, NOW), "a", 5, finished=True)
    assert next_deadline(group, NOW) is None
    assert next_deadline(registered(group, "b", NOW + 1, ceiling=8), NOW + 1) == NOW + LEASE


@pytest.mark.parametrize("lost", [OnLostReader.EXCLUDE, OnLostReader.HOLD])
def test_between_deadlines_time_alone_changes_nothing(lost: OnLostReader) -> None:
    group = reported(
        reported(create("g", replace(CONFIG, on_lost_reader=lost), NOW), "a", 5, reach=40), "b", 7, NOW + 60, reach=50
    )
    now_ms = NOW + 60
    while (deadline := next_deadline(group, now_ms)) is not None:
        assert decide(group, deadline - 1) == decide(group, now_ms)
        now_ms = deadline
    assert decide(group, now_ms + 10**6) == decide(group, now_ms)
