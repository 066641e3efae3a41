"""When a request is sent again, with time and chance made up: no pause beyond its bound, no call
beyond its deadline.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_http.calls.answers import Unreachable, Untrusted
from lockgate_http.calls.client import TOO_SLOW
from lockgate_http.calls.retry import FIRST_S, MOST_S, Pace, pause_s, until_answered

chances = st.floats(0, 1, exclude_max=True)
asked = st.none() | st.floats(0, 1e9)


class Time:
    """A clock that moves when somebody sleeps, and by `each_s` with each attempt."""

    def __init__(self, chance: float = 0.5, each_s: float = 0.0) -> None:
        self.now, self.each_s = 1_000.0, each_s
        self.attempts: list[float] = []
        self.pace = Pace(lambda: self.now, self._sleep, lambda: chance)

    async def _sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds

    def failing(self, *errors: Unreachable | None) -> Callable[[], Awaitable[str]]:
        """Fails with these in turn, and with the last one from then on; None is an answer."""

        async def once() -> str:
            error = errors[min(len(self.attempts), len(errors) - 1)]
            self.attempts.append(self.now)
            self.now += self.each_s
            if error is not None:
                raise error
            return "the answer"

        return once


def passing(asked_wait_s: float | None = None) -> Unreachable:
    return Unreachable("503 busy", passing=True, asked_wait_s=asked_wait_s)


def run(once: Callable[[], Awaitable[str]], within_s: float, pace: Pace) -> str:
    return asyncio.run(until_answered(once, "http://c", within_s, pace, TOO_SLOW))


@given(st.integers(0, 10_000), chances, asked)
def test_a_pause_is_at_least_what_was_asked_for_and_at_most_its_bound_more(
    attempt: int, chance: float, asked_s: float | None
) -> None:
    pause = pause_s(attempt, chance, asked_s)
    assert (asked_s or 0) <= pause <= (asked_s or 0) + MOST_S


def test_the_bound_of_a_pause_doubles_until_it_is_the_highest() -> None:
    assert [pause_s(attempt, 1.0) for attempt in range(5)] == [FIRST_S, 2 * FIRST_S, 4 * FIRST_S, MOST_S, MOST_S]
    assert pause_s(3, 0.0) == 0


@given(chances, st.floats(0.001, 10), st.floats(0.05, 5), st.lists(asked, min_size=1, max_size=20))
def test_no_attempt_is_begun_and_no_pause_ends_beyond_the_deadline(
    chance: float, within_s: float, each_s: float, waits: list[float | None]
) -> None:
    time = Time(chance, each_s)
    with pytest.raises(Unreachable):
        run(time.failing(*(passing(wait) for wait in waits)), within_s, time.pace)
    assert max(time.attempts) <= 1_000 + within_s
    assert time.now <= 1_000 + within_s + each_s, "but for the last attempt, which is cut off in real time"


def test_what_passes_is_answered_in_the_end() -> None:
    time = Time()
    assert run(time.failing(passing(), passing(), None), 2, time.pace) == "the answer"
    assert len(time.attempts) == 3


def test_attempts_are_limited_except_where_a_pause_was_asked_for() -> None:
    time = Time()
    with pytest.raises(Unreachable, match=r"^503 busy$"):
        asyncio.run(until_answered(time.failing(passing(1.0), *[passing()] * 9), "http://c", 9, time.pace, "", 3))
    assert len(time.attempts) == 3


def test_pause_that_the_coordinator_asks_for_is_kept() -> None:
    time = Time()
    assert run(time.failing(passing(1.0), None), 2, time.pace) == "the answer"
    assert 1.0 <= time.attempts[1] - time.attempts[0] <= 1.0 + FIRST_S


def test_a_wait_that_does_not_fit_is_not_begun_and_is_told() -> None:
    time = Time()
    with pytest.raises(Unreachable, match=r"503 busy \(1 attempt within 2 s; it asks to be left alone for 30 s\)"):
        run(time.failing(passing(30.0)), 2, time.pace)
    assert time.now == 1_000


@pytest.mark.parametrize("error", [Unreachable("500"), Untrusted("self-signed")])
def test_what_does_not_pass_is_not_tried_again(error: Unreachable) -> None:
    time = Time()
    with pytest.raises(Unreachable) as raised:
        run(time.failing(error), 2, time.pace)
    assert raised.value is error
    assert len(time.attempts) == 1


def test_attempt_that_hangs_ends_at_the_deadline_with_the_error_before() -> None:
    attempts: list[int] = []

    async def once() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise passing()
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(
        Unreachable,
        match=r"http://c gave no whole answer within 0\.2 s; before that: 503 busy; .*longer Coordinator\(timeout=…\)",
    ):
        run(once, 0.2, Pace(lambda: 0.0, chance=lambda: 0.0))


def test_a_repeated_attempt_is_a_line_at_debug_and_no_higher(caplog: pytest.LogCaptureFixture) -> None:
    time = Time()
    with caplog.at_level(logging.DEBUG, "lockgate"):
        run(time.failing(passing(), None), 2, time.pace)
    assert [record.levelno for record in caplog.records if record.name == "lockgate"] == [logging.DEBUG]
