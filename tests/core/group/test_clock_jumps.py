from dataclasses import replace

import pytest

from lockgate.group.clock_jumps import UNNOTICED_MS, StoreClock, after_jumps
from lockgate.group.group import Group, create
from lockgate.group.now import ClockJump
from lockgate.watermark import MAX
from lockgate.wire.events import GroupConfig, OnMaxWait
from support.turns import NOW, decide, evaluate, registered, reported

LEASE, HOUR = 900, 3_600_000
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10, max_wait_ms=500)
NOTICED = NOW + 100 + HOUR
LEAP = ClockJump(1, HOUR, NOTICED)


@pytest.fixture
def group() -> Group:
    """Source a is at 5, source b at 100 and waits for it; both were heard at NOW."""
    return evaluate(reported(reported(create("g", CONFIG, NOW), "a", 5, NOW), "b", 100, NOW), NOW)[0]


@pytest.fixture
def clock() -> StoreClock:
    """The store's clock is 5,000 ms ahead of the monotonic one."""
    clock = StoreClock()
    assert clock.observe(1_000, 6_001, 1_002) == 0
    return clock


def test_a_clock_that_goes_evenly_has_not_jumped(clock: StoreClock) -> None:
    assert [clock.observe(sent, sent + 5_001, sent + 2) for sent in range(1_000, 100_000, 997)] == [0] * 100
    assert clock.jumps == ()


def test_jump_is_noticed_at_first_answer_and_never_underestimated(clock: StoreClock) -> None:
    assert 60_000 <= clock.observe(2_000, 67_001, 2_002) <= 60_005
    assert [jump.noticed_ms for jump in clock.jumps] == [67_001]
    assert clock.observe(3_000, 68_001, 3_002) == 0


def test_an_answer_that_takes_long_hides_no_jump_for_good(clock: StoreClock) -> None:
    assert clock.observe(2_000, 7_800, 4_000) == 0
    assert 700 <= clock.observe(4_000, 9_701, 4_002) <= 710


def test_a_jump_that_is_smaller_than_the_precision_of_leases_is_none(clock: StoreClock) -> None:
    assert clock.observe(2_000, 7_001 + UNNOTICED_MS, 2_002) == 0


def test_a_clock_that_is_put_back_moves_no_lease(clock: StoreClock) -> None:
    assert -60_010 < clock.observe(2_000, 7_001 - 60_000, 2_002) <= -60_000
    assert clock.jumps == ()


def test_a_clock_may_run_a_little_faster_for_long(clock: StoreClock) -> None:
    day = 86_400_000
    assert clock.observe(1_000 + day, 6_001 + day + day // 2_000, 1_002 + day) == 0


def test_a_jump_leaves_each_lease_what_was_left_of_it(group: Group) -> None:
    assert decide(group, NOTICED).group_watermark == MAX
    after = after_jumps(group, [LEAP])
    assert decide(after, NOTICED).group_watermark == 5
    assert decide(after, HOUR + NOW + LEASE - 1).group_watermark == 5
    assert all(reader.lost for reader in evaluate(after, HOUR + NOW + LEASE)[0].readers.values())


def test_a_reader_that_was_heard_after_the_jump_is_left_alone(group: Group) -> None:
    group = reported(group, "b", 100, NOTICED)
    assert after_jumps(group, [LEAP]).readers["b", 0] is group.readers["b", 0]


def test_reader_lost_by_another_process_after_jump_counts_again(group: Group) -> None:
    lost, _ = evaluate(group, NOTICED)
    assert decide(after_jumps(lost, [LEAP]), NOTICED).group_watermark == 5


def test_a_reader_that_was_lost_before_the_jump_stays_lost(group: Group) -> None:
    for now_ms in range(NOW + 300, NOW + LEASE + 1, 300):
        group = reported(group, "b", 100, now_ms)
    group, _ = evaluate(group, NOW + LEASE)
    after = after_jumps(group, [ClockJump(1, HOUR, NOW + LEASE + 100 + HOUR)])
    assert decide(after, NOW + LEASE + 100 + HOUR).group_watermark == 100


def test_parking_goes_on_over_a_jump(group: Group) -> None:
    group = reported(group, "a", 5, NOW, park_ms=HOUR)
    assert decide(after_jumps(group, [LEAP]), NOTICED + HOUR - 101).group_watermark == 5


def test_a_jump_is_no_part_of_a_wait(group: Group) -> None:
    group = replace(group, config=replace(CONFIG, on_max_wait=OnMaxWait.PROCEED))
    group = reported(reported(group, "b", 100, NOW + 50), "a", 5, NOW + 50)
    assert group.readers["b", 0].held_since is not None
    assert not evaluate(after_jumps(group, [LEAP]), NOTICED)[0].readers["a", 0].passed_over


def test_new_group_keeps_its_ceiling_for_one_lease_over_a_jump() -> None:
    group = reported(registered(create("g", CONFIG, NOW), "b", ceiling=60), "b", 100, NOW)
    after = after_jumps(group, [LEAP, LEAP])
    assert (decide(after, NOTICED).ceiling, after.grace_until) == (60, NOTICED + LEASE)


def test_times_of_a_group_are_moved_once_for_a_jump() -> None:
    group = reported(create("g", CONFIG, NOTICED), "b", 100, NOTICED)
    after = after_jumps(group, [LEAP])
    assert after is not group
    assert after == group
