from dataclasses import replace
from typing import Any

import pytest

from lockgate.group.group import Group, create, replace_config
from lockgate.watermark import MAX
from lockgate.wire.events import (
    GroupConfig,
    Mode,
    OnLostReader,
    OnMaxWait,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
)
from support.turns import decide, evaluate, next_deadline, register, report

NOW = 1_000_000
HOLD = 500
PROCEED = GroupConfig(lease_ms=100_000, max_drift_ms=10, max_wait_ms=HOLD, on_max_wait=OnMaxWait.PROCEED)
ALARM = replace(PROCEED, on_max_wait=OnMaxWait.ALARM)


def said(group: Group, source: str, watermark: int, now_ms: int, **more: Any) -> Group:
    key = (source, 0)
    if key not in group.readers:
        group = register(group, source, ReaderRegistrationEvent(subtask=0), now_ms)
    event = ReportedWatermarkEvent(subtask=0, epoch=group.readers[key].epoch, watermark=watermark, **more)
    return evaluate(report(group, source, event, now_ms), now_ms)[0]


def waiting(config: GroupConfig = PROCEED) -> Group:
    """`live` stands at 1,000 and has found at NOW that `backfill`, at 0, holds it."""
    group = said(create("g", config, NOW), "backfill", 0, NOW)
    return said(said(group, "live", 1_000, NOW), "live", 1_000, NOW)


def test_wait_begins_at_the_ceiling_and_ends_below_it() -> None:
    group = said(create("g", PROCEED, NOW), "backfill", 0, NOW)
    assert said(group, "live", 9, NOW + 1).readers["live", 0].held_since is None
    held = said(group, "live", 10, NOW + 1)
    assert held.readers["live", 0].held_since == NOW + 1
    assert said(held, "live", 10, NOW + 2).readers["live", 0].held_since == NOW + 1
    assert said(said(held, "backfill", 50, NOW + 3), "live", 10, NOW + 3).readers["live", 0].held_since is None


def test_no_wait_for_itself_while_idle_or_while_observing() -> None:
    alone = said(said(create("g", replace(PROCEED, max_drift_ms=0), NOW), "a", 5, NOW), "a", 5, NOW)
    idle = said(waiting(), "live", 1_000, NOW, idle=True)
    observed = waiting(replace(PROCEED, mode=Mode.OBSERVE))
    assert [
        group.readers[key].held_since
        for group in (alone, idle, observed)
        for key in group.readers
        if key[0] != "backfill"
    ] == [None] * 3


def test_a_reader_that_waited_for_too_long_is_let_go_to_the_millisecond() -> None:
    group = waiting()
    assert next_deadline(group, NOW) == NOW + HOLD
    assert decide(group, NOW + HOLD - 1).ceiling == 10
    assert decide(group, NOW + HOLD).ceiling == 1_010
    assert evaluate(group, NOW + HOLD)[0].readers["backfill", 0].passed_over


def test_an_alarm_changes_nothing_but_is_given_once_for_each_wait() -> None:
    group = evaluate(waiting(ALARM), NOW + HOLD)[0]
    assert group.readers["live", 0].overdue
    assert decide(group, NOW + 9 * HOLD).ceiling == 10
    assert next_deadline(group, NOW + HOLD) == NOW + 100_000
    again = said(said(said(group, "backfill", 995, NOW + HOLD), "live", 1_000, NOW + HOLD), "live", 1_005, NOW + HOLD)
    assert (again.readers["live", 0].overdue, again.readers["live", 0].held_since) == (False, NOW + HOLD)


def test_passed_over_reader_counts_again_within_drift_of_others() -> None:
    group = evaluate(waiting(), NOW + HOLD)[0]
    for watermark, counts in ((500, False), (989, False), (990, True)):
        group = said(group, "backfill", watermark, NOW + HOLD)
        assert (decide(group, NOW + HOLD).group_watermark == watermark) is counts
        assert decide(group, NOW + HOLD).ceiling > watermark
    assert not group.readers["backfill", 0].passed_over


def test_a_restart_of_who_was_passed_over_does_not_hold_the_others_again() -> None:
    group = evaluate(waiting(), NOW + HOLD)[0]
    group = evaluate(
        register(group, "backfill", ReaderRegistrationEvent(subtask=0, takeover=True), NOW + HOLD), NOW + HOLD
    )[0]
    assert decide(said(group, "backfill", 3, NOW + HOLD), NOW + HOLD).group_watermark == 1_000


def test_waiting_reader_is_never_passed_over_and_waits_again() -> None:
    group = said(waiting(), "ahead", 5_000, NOW)
    group = evaluate(said(group, "ahead", 5_000, NOW), NOW + HOLD)[0]
    assert {key[0] for key in group.readers if group.readers[key].passed_over} == {"backfill"}
    assert decide(group, NOW + HOLD).ceiling == 1_010
    assert (
        decide(said(group, "ahead", 5_000, NOW + HOLD), NOW + 2 * HOLD).group_watermark == 1_000
    )  # live may go, and has not said so
    group = said(said(group, "live", 1_000, NOW + HOLD), "ahead", 5_000, NOW + HOLD)
    assert decide(group, NOW + 2 * HOLD).group_watermark == 5_000


@pytest.mark.parametrize(("config", "ceiling"), [(PROCEED, 1_010), (ALARM, -(2**63))])
def test_an_expected_source_that_never_comes_is_not_waited_for_for_ever(config: GroupConfig, ceiling: int) -> None:
    group = said(create("g", replace(config, expected_sources=("live", "never")), NOW), "live", 1_000, NOW)
    assert decide(said(group, "live", 1_000, NOW), NOW + HOLD).ceiling == ceiling


def test_a_lost_reader_that_holds_on_is_passed_over_too() -> None:
    holding = replace(PROCEED, on_lost_reader=OnLostReader.HOLD, lease_ms=HOLD - 1)
    group = said(waiting(holding), "live", 1_000, NOW + HOLD - 2)
    assert decide(group, NOW + HOLD - 1).group_watermark == 0
    assert decide(group, NOW + HOLD).group_watermark == 1_000


def test_all_is_found_anew_under_another_configuration() -> None:
    group = replace_config(evaluate(waiting(), NOW + HOLD)[0], ALARM, NOW + HOLD)
    assert decide(group, NOW + HOLD).group_watermark == 0
    assert decide(said(group, "live", MAX, NOW + HOLD), NOW + HOLD).group_watermark == 0


def test_outage_is_no_wait() -> None:
    group = waiting(replace(PROCEED, lease_ms=900, update_interval_ms=10))
    assert decide(group, NOW + HOLD).ceiling == 10
    assert next_deadline(group, NOW + HOLD) == NOW + 900
    group = said(evaluate(group, NOW + HOLD)[0], "live", 1_000, NOW + 60_000)
    assert decide(group, NOW + 60_000).ceiling == 10
    assert next_deadline(group, NOW + 60_000) == NOW + 60_000 + HOLD


def test_two_outages_in_a_row_do_not_count_as_waiting() -> None:
    group = waiting(replace(PROCEED, lease_ms=900, update_interval_ms=10))
    for back in (NOW + 400, NOW + 800):
        group = said(group, "backfill", 0, back)
    assert decide(group, NOW + 800).ceiling == 10


def test_reader_that_waits_shortly_is_not_passed_over() -> None:
    group = said(said(waiting(), "ahead", 5_000, NOW + 1), "ahead", 5_000, NOW + 1)
    group = said(group, "ahead", 5_000, NOW + HOLD - 1)
    late = replace_config(group, replace(PROCEED, max_wait_ms=HOLD - 1), NOW)
    late = said(said(late, "ahead", 5_000, NOW), "live", 1_000, NOW + 1)
    group = evaluate(late, NOW + HOLD - 1)[0]
    assert {key[0] for key in group.readers if group.readers[key].passed_over} == {"backfill"}
    assert decide(group, NOW + HOLD - 1).ceiling == 1_010


def test_a_reader_that_was_passed_over_counts_again_where_nobody_else_does() -> None:
    group = said(evaluate(waiting(), NOW + HOLD)[0], "live", 1_000, NOW + HOLD, finished=True)
    assert decide(group, NOW + HOLD).ceiling == MAX
    assert decide(said(group, "backfill", 0, NOW + HOLD), NOW + HOLD).ceiling == 10


def test_a_reader_that_gets_on_at_the_pace_of_others_does_not_wait() -> None:
    group, now_ms = said(said(create("g", PROCEED, NOW), "slow", 990, NOW), "fast", 1_000, NOW), NOW
    # The fast reader has enough to read, so it reads up to the ceiling each time.
    for slow in (990, 999, 1_008, 1_017):
        group = said(said(group, "slow", slow, now_ms), "fast", slow + 10, now_ms)
        assert decide(group, now_ms + HOLD - 1).ceiling == slow + 10
        now_ms += HOLD - 1
    assert decide(group, now_ms + 1).ceiling == 1_037


def test_reader_that_moves_after_alarm_is_not_overdue() -> None:
    group = said(evaluate(waiting(ALARM), NOW + HOLD)[0], "backfill", 995, NOW + HOLD)
    group = said(group, "live", 1_005, NOW + HOLD)
    assert (group.readers["live", 0].overdue, group.readers["live", 0].held_since) == (False, NOW + HOLD)
    assert evaluate(group, NOW + 2 * HOLD)[0].readers["live", 0].overdue
