"""Clocks that stand still, and time moved by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue, WrongState
from lockgate.flink.clocks import PausableClock
from support.virtual_time import VirtualTime


@given(st.lists(st.sampled_from(["pause", "resume", "wait"]), max_size=40))
def test_a_pausable_clock_shows_the_time_during_which_no_pause_was_open(steps: list[str]) -> None:
    time = VirtualTime(7)
    clock = PausableClock(time)
    open_pauses, running = 0, 7_000_000
    for step in steps:
        if step == "wait":
            time.advance(3)
            running += 0 if open_pauses else 3_000_000
        elif step == "pause":
            clock.pause()
            open_pauses += 1
        elif open_pauses:
            clock.resume()
            open_pauses -= 1
        assert (clock.relative_nanos(), clock.is_paused) == (running, open_pauses > 0)


def test_a_running_clock_cannot_be_resumed() -> None:
    clock = PausableClock(VirtualTime(5))
    with pytest.raises(WrongState, match="needs a pause"):
        clock.resume()
    assert clock.relative_nanos() == 5_000_000


def test_timers_fire_in_order_each_at_its_own_time() -> None:
    time = VirtualTime(100)
    fired: list[tuple[str, int]] = []
    time.set_timer(130, lambda due: fired.append(("late", time.now_ms())))
    time.set_timer(110, lambda due: fired.append(("early", time.now_ms())))
    time.repeat(15, lambda due: fired.append(("often", time.now_ms())))
    time.advance(45)
    assert fired == [("early", 110), ("often", 115), ("late", 130), ("often", 130), ("often", 145)]
    assert time.now_ms() == 145


def test_a_timer_may_cancel_itself() -> None:
    time = VirtualTime()
    fired: list[int] = []
    timer = time.repeat(10, lambda due: (fired.append(due), timer.cancel()))
    time.advance(50)
    assert fired == [10]


def test_a_machine_that_was_busy_fires_what_is_overdue_late() -> None:
    time = VirtualTime()
    seen: list[tuple[int, int]] = []
    time.set_timer(10, lambda due: seen.append((due, time.now_ms())))
    time.jump_to(50)
    assert seen == [(10, 50)]


def test_time_does_not_go_back_and_a_period_is_not_nothing() -> None:
    time = VirtualTime(100)
    for go in (time.advance_to, time.jump_to):
        with pytest.raises(InvalidValue, match=r"must not lie before now \(100\), but is 99"):
            go(99)
    with pytest.raises(InvalidValue, match="period_ms: must be more than 0, not 0"):
        time.repeat(0, lambda due: None)
    assert time.now_ms() == 100
