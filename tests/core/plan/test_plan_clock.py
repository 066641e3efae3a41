"""The clock of plans under jumps of the wall clock, and beside records that contradict it: virtual
time, a look each second.
"""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.plan.clock import AHEAD_MS, LEAP_MS, SHOWN_MS, STOOD_MS, PlanClock

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
BOOTED = 1_700_000_000_000  # the monotonic clock counts from here

Shows = Callable[[int], dict[str, int]]
"""By how many ms the records that came are ahead of the true time, by producer."""


def on_time(ticks: int) -> dict[str, int]:
    return {"p": 0}


def nobody(ticks: int) -> dict[str, int]:
    return {}


def errors(wrong: Callable[[int], int], until: int, shows: Shows = nobody, every: int = SECOND) -> list[int]:
    """By how many ms the plans' clock is ahead of the true time at each look, while the wall clock
    is `wrong`. The records are stamped by the true time.
    """
    clock, found = PlanClock(), []
    for ticks in range(0, until, every):
        now = clock.look(BOOTED + ticks + wrong(ticks), ticks)
        found.append(now - BOOTED - ticks)
        clock.show({producer: ahead - found[-1] for producer, ahead in shows(ticks).items()})
    return found


@st.composite
def brief_jumps(draw: st.DrawFn) -> Callable[[int], int]:
    """Jumps in either direction that are taken back within a minute, a second apart or more."""
    times, at = [], 1
    for pause, lasts, by in draw(
        st.lists(
            st.tuples(
                st.integers(1, 100), st.integers(1, 59), st.integers(2 * LEAP_MS, 9 * HOUR).flatmap(_either_direction)
            ),
            max_size=8,
        )
    ):
        times.append((at + pause, at + pause + lasts, by))
        at += pause + lasts
    return lambda ticks: next((by for low, high, by in times if low * SECOND <= ticks < high * SECOND), 0)


def _either_direction(by: int) -> st.SearchStrategy[int]:
    return st.sampled_from((by, -by))


@given(brief_jumps(), st.sampled_from((on_time, nobody)))
def test_jumps_that_are_taken_back_within_a_minute_move_no_plan(wrong: Callable[[int], int], shows: Shows) -> None:
    assert set(errors(wrong, 1_500 * SECOND, shows)) == {0}


@given(st.lists(st.tuples(st.integers(1, 900), st.integers(-9 * HOUR, 9 * HOUR)), max_size=6), st.integers(0, 400))
@example([(1, -2004), (2, 1)], 0)
def test_no_jump_moves_plans_ahead_of_producers_that_are_on_time(jumps: list[tuple[int, int]], jitter: int) -> None:
    def wrong(ticks: int) -> int:
        return sum(by for at, by in jumps if ticks >= at * SECOND)

    found = errors(wrong, 1_000 * SECOND, lambda ticks: {"p": -jitter * (ticks // SECOND % 3)})
    paces = (LEAP_MS + 1) * len(jumps)
    assert max(found) <= paces, "each of them may be taken for the clocks' uneven pace"
    assert min(found) >= -AHEAD_MS - paces - 2 * jitter


@given(st.integers(2 * LEAP_MS, 9 * HOUR).flatmap(_either_direction), st.integers(1, 20))
def test_lasting_jump_without_records_is_taken_over_after_a_minute(by: int, every_s: int) -> None:
    every = every_s * SECOND
    found = errors(lambda ticks: by if ticks >= 5 * every else 0, 2 * STOOD_MS + 10 * every, nobody, every)
    before = -(-STOOD_MS // every)
    assert found == [0] * (5 + before) + [by] * (len(found) - 5 - before)


@given(st.integers(AHEAD_MS, 30 * 24 * HOUR), st.integers(0, 59))
def test_clock_behind_all_records_is_corrected_by_the_least_of_them(behind: int, later_s: int) -> None:
    found = errors(lambda _: -behind, 2 * MINUTE, lambda _: {"p": 0, "q": later_s * SECOND})
    assert found[: SHOWN_MS // SECOND] == [-behind] * (SHOWN_MS // SECOND)
    assert set(found[SHOWN_MS // SECOND + 1 :]) == {0}


@given(st.integers(0, 9 * HOUR), st.integers(-HOUR, SECOND))
def test_a_producer_that_is_ahead_moves_no_plan_while_one_is_not(ahead: int, other: int) -> None:
    assert set(errors(lambda _: 0, 10 * MINUTE, lambda _: {"p": ahead, "q": other})) == {0}


@pytest.mark.parametrize("every", [1, 3, 9])
def test_single_records_ahead_of_the_clock_move_no_plan(every: int) -> None:
    assert set(errors(lambda _: 0, 300 * SECOND, lambda t: {"p": 0 if t // SECOND % every == 0 else 5 * MINUTE})) == {0}


def test_a_producer_that_was_on_time_is_a_witness_for_an_hour() -> None:
    found = errors(lambda _: 0, 2 * HOUR, lambda t: {"p": 10 * MINUTE} | ({"q": 0} if t == 0 else {}), 5 * SECOND)
    assert set(found[: HOUR // (5 * SECOND)]) == {0}
    assert set(found[HOUR // (5 * SECOND) + 3 :]) == {10 * MINUTE}


@pytest.mark.parametrize("wrong_ms", [10 * MINUTE, 5 * SECOND])
def test_corrected_clock_moves_plans_by_no_more_than_it_was_wrong(wrong_ms: int) -> None:
    found = errors(lambda t: -wrong_ms if t < 5 * MINUTE else 0, 10 * MINUTE, on_time)
    assert found[-1] == 0
    assert set(found) <= {0, -wrong_ms}


def test_suspended_machine_is_at_the_records_time_within_half_a_minute() -> None:
    """The monotonic clock stands still meanwhile: the wall clock and the records jump."""
    found = errors(
        lambda t: 8 * HOUR if t >= 5 * MINUTE else 0, 10 * MINUTE, lambda t: {"p": 8 * HOUR if t >= 5 * MINUTE else 0}
    )
    assert set(found[330:]) == {8 * HOUR}


def test_the_clock_tells_by_how_much_it_has_moved_in_all() -> None:
    clock = PlanClock()
    for ticks in range(0, 5 * MINUTE, SECOND):
        before, moved = clock.look(BOOTED + ticks - (HOUR if ticks > MINUTE else 0), ticks), clock.moved
    assert (clock.moved, moved, clock.jumped) == (-HOUR, -HOUR, 0)
    assert before == BOOTED + ticks - HOUR
