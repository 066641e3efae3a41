"""Stalls of a process count against no lease, wait or grace of a group."""

from dataclasses import replace
from random import Random

import pytest

from lockgate.errors import ReaderBusy
from lockgate.group.group import Group, create
from lockgate.group.now import Now, Span
from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, OnMaxWait, ReaderRegistrationEvent
from support.turns import Stalls, evaluate, next_deadline, register, registered, reported

LEASE_MS = 3_000
NO_OUTAGE_MS = 600_000
"""An update interval so long that no silence is taken for an outage of all."""

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=LEASE_MS, update_interval_ms=NO_OUTAGE_MS, catch_up=CatchUp.STRICT)


def two_readers(config: GroupConfig = CONFIG) -> Group:
    """`slow` at 50 and `fast` at 1,000, both heard at 0."""
    return reported(reported(create("g", config, 0), "slow", 50, 0), "fast", 1_000, 0)


def ceiling(group: Group, now_ms: int, stalls: Stalls = ()) -> int:
    return evaluate(group, now_ms, stalls)[1].max_desired_watermark


def test_reader_whose_report_waits_during_stall_goes_on_counting() -> None:
    stall = ((1_000, 16_000),)
    # the first report that is read afterwards
    assert ceiling(reported(two_readers(), "fast", 1_000, 16_001), 16_001) == 1_010
    assert ceiling(reported(two_readers(), "fast", 1_000, 16_001, stalls=stall), 16_001, stall) == 60


def test_a_dead_reader_is_lost_after_one_lease_without_stalls() -> None:
    stall = ((1_000, 16_000), (16_500, 17_000))
    group = reported(two_readers(), "fast", 1_000, 16_001, stalls=stall[:1])
    ends = LEASE_MS + 15_000 + 500
    assert next_deadline(group, 17_000, stall) == ends
    assert (ceiling(group, ends - 1, stall), ceiling(group, ends, stall)) == (60, 1_010)


def test_reader_heard_after_stall_has_no_longer_lease() -> None:
    group = reported(reported(two_readers(), "slow", 50, 5_000), "fast", 1_000, 7_900)
    stall = ((1_000, 4_000),)
    assert (ceiling(group, 5_000 + LEASE_MS - 1, stall), ceiling(group, 5_000 + LEASE_MS, stall)) == (60, 1_010)


def test_registration_after_stall_keeps_report_and_owner() -> None:
    stall, group = ((1_000, 16_000),), two_readers()
    again = register(group, "slow", ReaderRegistrationEvent(subtask=0), 16_001, stall)
    assert ceiling(again, 16_001, stall) == 60
    with pytest.raises(ReaderBusy):
        register(group, "slow", ReaderRegistrationEvent(subtask=0, owner="another"), 16_001, stall)


def test_parked_reader_keeps_its_place_during_stall() -> None:
    group, stall = reported(two_readers(), "slow", 50, 0, park_ms=10_000), ((9_000, 12_000),)
    assert ceiling(reported(group, "fast", 1_000, 12_001), 12_001) == 1_010
    assert ceiling(reported(group, "fast", 1_000, 12_001, stalls=stall), 12_001, stall) == 60


def test_stall_makes_no_wait_longer() -> None:
    config = replace(CONFIG, max_wait_ms=2_000, on_max_wait=OnMaxWait.PROCEED, lease_ms=NO_OUTAGE_MS)
    group, stall = reported(two_readers(config), "fast", 1_000, 0), ((1_000, 5_000),)
    assert next_deadline(group, 5_000, stall) == 6_000
    assert (ceiling(group, 5_999, stall), ceiling(group, 6_000, stall)) == (60, 1_010)


def test_grace_of_new_group_is_longer_by_stall() -> None:
    stall = ((1_000, 16_000),)
    group = registered(create("g", CONFIG, 0), "fast", 0, ceiling=60)
    group = reported(reported(group, "fast", 1_000, 0), "fast", 1_000, 16_001)
    assert (ceiling(group, 16_001), ceiling(group, 16_001, stall)) == (1_010, 60)
    late = register(group, "slow", ReaderRegistrationEvent(subtask=0, ceiling=40), 16_001, stall)
    assert ceiling(late, 16_001, stall) == 40


def test_end_is_reached_after_enough_time_without_stalls() -> None:
    random = Random(16)
    for _ in range(300):
        spans, at = list[Span](), 0
        for _ in range(random.randrange(4)):
            began = at + random.randrange(6)
            at = began + random.randrange(1, 6)
            spans.append((began, at))
        stalls, since, takes = tuple(spans), random.randrange(20), random.randrange(1, 12)
        heard = (ms for ms in range(since, MAX) if not any(began <= ms < ended for began, ended in spans))
        ends = [next(heard) for _ in range(takes)][-1] + 1
        assert Now(0, stalls).ends_ms(since + takes, takes) == ends
        judged = [now for now in range(60) if Now(now, stalls).judged_ms(takes) >= since + takes]
        assert judged[0] == ends
