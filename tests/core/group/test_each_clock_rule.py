"""Each of the three rules about time is needed: a counter-example without it
(`lockgate.group.leases` has the reasons).
"""

from unittest.mock import patch

from lockgate.group.commands import Refresh, Reports
from lockgate.group.group import Group, create
from lockgate.group.now import ClockJump, Now
from lockgate.group.turn import turn
from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from support.turns import register

NOW, LEASE, MINUTE, HOUR = 1_000_000, 30_000, 60_000, 3_600_000
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=1_000, max_drift_ms=10, catch_up=CatchUp.STRICT)
HELD_BY_SLOW, FREE = 60, 1_010


def reports(group: Group, source: str, watermark: int, now: Now, park_ms: int | None = None) -> tuple[Group, int]:
    """The group after a report, and the ceiling of its answer."""
    epoch = group.readers[source, 0].epoch
    event = ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=watermark, park_ms=park_ms)
    done = turn(group, [Reports([(source, event)])], now)
    return done.group, done.event.max_desired_watermark


def two_readers(park_ms: int | None = None) -> Group:
    """`slow` at 50, parked or not, and `fast` at 1,000: both were heard at NOW."""
    group = create("g", CONFIG, NOW)
    for source, watermark, parks in (("slow", 50, park_ms), ("fast", 1_000, None)):
        group = register(group, source, ReaderRegistrationEvent(subtask=0), NOW)
        group, _ = reports(group, source, watermark, Now(NOW), parks)
    return group


def test_without_silence_rule_the_first_reader_after_an_outage_runs_free() -> None:
    group, afterwards = two_readers(), Now(NOW + 5 * MINUTE)
    assert reports(group, "fast", 1_000, afterwards)[1] == HELD_BY_SLOW
    with patch("lockgate.group.turn.after_silence", lambda group, now_ms: group):
        assert reports(group, "fast", 1_000, afterwards)[1] == FREE


def test_without_stall_rule_a_timer_after_a_stop_sets_all_readers_free() -> None:
    group, wakes = two_readers(), NOW + 2 * LEASE
    looked = turn(group, [Refresh()], Now(wakes, stalls=((NOW + 1, wakes),)))
    assert looked.event.max_desired_watermark == HELD_BY_SLOW
    assert turn(group, [Refresh()], Now(wakes)).event.max_desired_watermark == MAX


def test_without_stall_rule_stalls_shorter_than_a_silence_lose_a_reader() -> None:
    """Four stalls of 9 s, of which each lets one report of `fast` through."""
    with_rule = without = two_readers()
    stalls = tuple((NOW + 1 + 9_000 * n, NOW + 9_000 * (n + 1)) for n in range(4))
    for n in range(4):
        at = stalls[n][1]
        with_rule, ceiling = reports(with_rule, "fast", 1_000, Now(at, stalls[: n + 1]))
        without, free = reports(without, "fast", 1_000, Now(at))
    assert (ceiling, free) == (HELD_BY_SLOW, FREE)


def test_without_jump_rule_a_parked_reader_is_lost_after_one_lease() -> None:
    with_rule = without = two_readers(park_ms=HOUR)
    jump, at = ClockJump(1, 2 * HOUR, NOW + 2 * HOUR), NOW + 2 * HOUR
    for seconds in range(0, LEASE + 1, LEASE // 3):
        with_rule, ceiling = reports(with_rule, "fast", 1_000, Now(at + seconds, jumps=() if seconds else (jump,)))
        without, free = reports(without, "fast", 1_000, Now(at + seconds))
    assert (ceiling, free) == (HELD_BY_SLOW, FREE)
