from dataclasses import replace

import pytest

from lockgate.group.group import Group, create, replace_config
from lockgate.watermark import MAX
from lockgate.wire.events import GroupConfig, Mode, OnMaxWait
from support.turns import NOW, decide, evaluate, next_deadline, reported

HOLD = 500
PROCEED = GroupConfig(lease_ms=100_000, max_drift_ms=10, max_wait_ms=HOLD, on_max_wait=OnMaxWait.PROCEED)
ALARM = replace(PROCEED, on_max_wait=OnMaxWait.ALARM)


def waiting(config: GroupConfig = PROCEED) -> Group:
    """`live` stands at 1,000 and has found at NOW that `backfill`, at 0, holds it."""
    group = reported(create("g", config, NOW), "backfill", 0, NOW)
    return reported(reported(group, "live", 1_000, NOW), "live", 1_000, NOW)


def test_no_wait_for_itself_while_idle_or_while_observing() -> None:
    alone = reported(reported(create("g", replace(PROCEED, max_drift_ms=0), NOW), "a", 5, NOW), "a", 5, NOW)
    idle = reported(waiting(), "live", 1_000, NOW, idle=True)
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
    again = reported(
        reported(reported(group, "backfill", 995, NOW + HOLD), "live", 1_000, NOW + HOLD), "live", 1_005, NOW + HOLD
    )
    assert (again.readers["live", 0].overdue, again.readers["live", 0].held_since) == (False, NOW + HOLD)


@pytest.mark.parametrize(("config", "ceiling"), [(PROCEED, 1_010), (ALARM, -(2**63))])
def test_an_expected_source_that_never_comes_is_not_waited_for_for_ever(config: GroupConfig, ceiling: int) -> None:
    group = reported(create("g", replace(config, expected_sources=("live", "never")), NOW), "live", 1_000, NOW)
    assert decide(reported(group, "live", 1_000, NOW), NOW + HOLD).ceiling == ceiling


def test_all_is_found_anew_under_another_configuration() -> None:
    group = replace_config(evaluate(waiting(), NOW + HOLD)[0], ALARM, NOW + HOLD)
    assert decide(group, NOW + HOLD).group_watermark == 0
    assert decide(reported(group, "live", MAX, NOW + HOLD), NOW + HOLD).group_watermark == 0


def test_outage_is_no_wait() -> None:
    group = waiting(replace(PROCEED, lease_ms=900, update_interval_ms=10))
    assert decide(group, NOW + HOLD).ceiling == 10
    assert next_deadline(group, NOW + HOLD) == NOW + 900
    group = reported(evaluate(group, NOW + HOLD)[0], "live", 1_000, NOW + 60_000)
    assert decide(group, NOW + 60_000).ceiling == 10
    assert next_deadline(group, NOW + 60_000) == NOW + 60_000 + HOLD
