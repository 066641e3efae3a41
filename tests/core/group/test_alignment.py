from dataclasses import replace
from typing import Any

import pytest

from lockgate.group.group import Group, create
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import (
    Blocker,
    CatchUp,
    GroupConfig,
    Mode,
    OnLostReader,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitReport,
    SplitState,
)
from support.turns import decide, evaluate, evict, next_deadline, register, report

NOW = 1_000_000
LEASE = 300
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)


def group_of(config: GroupConfig = CONFIG, **watermarks: int) -> Group:
    """A group whose sources have one reader each."""
    group = create("g", config, NOW)
    for source, watermark in watermarks.items():
        group = said(group, source, watermark)
    return group


def said(group: Group, source: str, watermark: int, now_ms: int = NOW, *, subtask: int = 0, **more: Any) -> Group:
    key = (source, subtask)
    if key not in group.readers:
        group = register(group, source, ReaderRegistrationEvent(subtask=subtask), now_ms)
    event = ReportedWatermarkEvent(subtask=subtask, epoch=group.readers[key].epoch, watermark=watermark, **more)
    return report(group, source, event, now_ms)


def test_the_watermark_is_the_lowest_and_the_ceiling_is_drift_above_it() -> None:
    decision = decide(group_of(a=30, b=7, c=12), NOW)
    assert (decision.group_watermark, decision.ceiling, decision.holders) == (7, 17, (("b", 0),))


def test_the_ceiling_saturates() -> None:
    assert decide(group_of(a=MAX - 5), NOW).ceiling == MAX


def test_group_without_reports_has_no_watermark_and_no_ceiling() -> None:
    group = register(create("g", CONFIG, NOW), "a", ReaderRegistrationEvent(subtask=0), NOW)
    assert (decide(group, NOW).group_watermark, decide(group, NOW).ceiling) == (MIN, MAX)


def test_all_idle_or_finished_or_gone_hold_nobody() -> None:
    for group in (
        said(said(create("g", CONFIG, NOW), "a", 5, idle=True), "b", 6, finished=True),
        evict(group_of(a=5), "a", 0),
    ):
        decision = decide(group, NOW)
        assert (decision.group_watermark, decision.ceiling, decision.holders) == (MAX, MAX, ())


def test_a_lost_reader_counts_no_more_or_holds_on_as_configured() -> None:
    assert decide(group_of(a=5), NOW + LEASE).group_watermark == MAX
    holding = group_of(replace(CONFIG, on_lost_reader=OnLostReader.HOLD), a=5)
    assert (decide(holding, NOW + LEASE).group_watermark, decide(holding, NOW + LEASE).ceiling) == (5, 15)


def test_nobody_moves_until_every_expected_source_has_reported_once() -> None:
    group = group_of(replace(CONFIG, expected_sources=("a", "b")), a=5)
    assert (decide(group, NOW).group_watermark, decide(group, NOW).ceiling) == (MIN, MIN)
    assert evaluate(group, NOW)[1].blocked_by == (Blocker(source="b", subtask=0, watermark=MIN),)
    assert decide(said(group, "b", MIN), NOW).ceiling == MIN
    assert decide(said(group, "b", 9), NOW).ceiling == 15
    assert decide(evict(said(group, "b", 9), "b", 0), NOW).ceiling == 15


def test_joint_goes_as_far_as_all_next_batches_and_strict_does_not() -> None:
    group = said(said(create("g", CONFIG, NOW), "a", 5, reach=90), "b", 30, reach=70)
    assert decide(group, NOW).ceiling == 70
    assert decide(replace(group, config=replace(CONFIG, catch_up=CatchUp.STRICT)), NOW).ceiling == 15


def test_reader_without_reach_bounds_joint_ceiling_by_its_watermark() -> None:
    assert decide(said(said(create("g", CONFIG, NOW), "a", 5, reach=90), "b", 30), NOW).ceiling == 30
    assert decide(said(said(create("g", CONFIG, NOW), "a", 5), "b", 30, reach=90), NOW).ceiling == 15


def test_an_idle_reader_does_not_bound_the_reach_of_the_others() -> None:
    assert decide(said(said(create("g", CONFIG, NOW), "a", 5, reach=90), "b", MIN, idle=True), NOW).ceiling == 90


def test_observing_sets_no_ceiling_and_tells_the_one_that_would_be() -> None:
    _, event = evaluate(group_of(replace(CONFIG, mode=Mode.OBSERVE), a=5), NOW)
    assert (event.group_watermark, event.max_desired_watermark, event.would_be) == (5, MAX, 15)
    assert evaluate(group_of(a=5), NOW)[1].would_be is None


def test_the_holder_is_named_with_its_lowest_split_that_does_not_rest() -> None:
    splits = {
        "p-0": SplitReport(watermark=9),
        "p-1": SplitReport(watermark=5, state=SplitState.PAUSED),
        "p-2": SplitReport(watermark=MIN, state=SplitState.IDLE),
        "p-3": SplitReport(watermark=MIN, state=SplitState.FINISHED),
    }
    event = evaluate(said(group_of(b=6), "a", 5, splits=splits), NOW)[1]
    assert event.blocked_by == (Blocker(source="a", subtask=0, watermark=5, split="p-1"),)


def test_first_eight_holders_at_the_minimum_are_named_in_order() -> None:
    group = create("g", CONFIG, NOW)
    for subtask in reversed(range(20)):
        group = said(group, "a", 5 if subtask else 6, subtask=subtask)
    assert [held.subtask for held in evaluate(group, NOW)[1].blocked_by] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_the_revision_moves_exactly_when_a_value_does_and_always_up() -> None:
    group, first = evaluate(group_of(a=5), NOW)
    again, same = evaluate(group, NOW + 1)
    assert (again, same) == (group, first)
    _, other = evaluate(said(group, "a", 4), NOW - 50)  # a clock that went back
    assert other.revision == first.revision + 1


def test_new_group_stays_below_presented_ceiling_for_one_lease() -> None:
    group = register(create("g", CONFIG, NOW), "a", ReaderRegistrationEvent(subtask=0, ceiling=8), NOW)
    group = said(group, "a", 5, NOW)
    assert decide(group, NOW + LEASE - 1).ceiling == 8
    group = said(group, "a", 5, NOW + 100)
    assert decide(group, NOW + LEASE).ceiling == 15


def test_a_presented_ceiling_raises_nothing() -> None:
    group = register(create("g", CONFIG, NOW), "a", ReaderRegistrationEvent(subtask=0, ceiling=800), NOW)
    assert decide(said(group, "a", 5, NOW), NOW).ceiling == 15


def test_next_deadline_is_the_end_of_the_first_running_lease() -> None:
    group = said(group_of(a=5), "b", 5, NOW + 50)
    assert [next_deadline(group, NOW + wait) for wait in (50, LEASE, LEASE + 50)] == [
        NOW + LEASE,
        NOW + LEASE + 50,
        None,
    ]


def test_grace_end_is_a_deadline_and_finished_readers_lease_is_none() -> None:
    group = said(create("g", CONFIG, NOW), "a", 5, finished=True)
    assert next_deadline(group, NOW) is None
    assert (
        next_deadline(register(group, "b", ReaderRegistrationEvent(subtask=0, ceiling=8), NOW + 1), NOW + 1)
        == NOW + LEASE
    )


@pytest.mark.parametrize("lost", [OnLostReader.EXCLUDE, OnLostReader.HOLD])
def test_between_deadlines_time_alone_changes_nothing(lost: OnLostReader) -> None:
    group = said(
        said(create("g", replace(CONFIG, on_lost_reader=lost), NOW), "a", 5, reach=40), "b", 7, NOW + 60, reach=50
    )
    now_ms = NOW + 60
    while (deadline := next_deadline(group, now_ms)) is not None:
        assert decide(group, deadline - 1) == decide(group, now_ms)
        now_ms = deadline
    assert decide(group, now_ms + 10**6) == decide(group, now_ms)
