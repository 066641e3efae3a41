"""Retries of requests, with exponential backoff and full jitter, until a deadline.

If the coordinator asks for a pause, the retry waits for that time, too.

Full jitter is a random pause from 0 to a bound that doubles with each attempt, up to `MOST_S`. It
spreads the retries of clients that lost the coordinator at the same moment ("Exponential Backoff
And Jitter", AWS Architecture Blog, 2015).
"""

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import TypeVar

from lockgate.duration import spoken_s
from lockgate_http.calls.answers import Unreachable

log = logging.getLogger("lockgate")

FIRST_S = 0.1
MOST_S = 0.5  # short, since the lease keeper leaves little time for retries (`group_session`)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pace:
    """The functions for time and random numbers, which tests replace. `clock` returns monotonic
    seconds, and `chance` a random number from 0 up to 1.
    """

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = random.random


def pause_s(attempt: int, chance: float, asked_s: float | None = None) -> float:
    """Return the pause (s) after the failed attempt number `attempt`, counted from 0.

    `chance` is a random number from 0 up to 1. Jitter is added even to `asked_s`, the pause that
    the coordinator asks for, or all clients would return at once.
    """
    return (asked_s or 0.0) + chance * min(MOST_S, FIRST_S * 2.0 ** min(attempt, 10))


async def until_answered(
    once: Callable[[], Awaitable[T]], url: str, within_s: float, pace: Pace, too_slow: str, attempts: float = inf
) -> T:
    """Call `once` until it succeeds, and return its result.

    Retry only after an `Unreachable` that is `passing`, and raise any other error. Make at most
    `attempts` calls, unless the coordinator has asked for a pause.

    Raises `Unreachable` after at most `within_s` seconds. If a call is still running then, the
    message ends with `too_slow`, the advice for that case.
    """
    ends, before = pace.clock() + within_s, ""
    for attempt in itertools.count():
        try:
            return await asyncio.wait_for(once(), ends - pace.clock())
        except asyncio.TimeoutError:
            text = f"{url} gave no whole answer within {spoken_s(within_s)}{before}; {too_slow}"
            raise Unreachable(text) from None
        except Unreachable as error:
            if not error.passing or (error.asked_wait_s is None and attempt + 1 >= attempts):
                raise
            pause = pause_s(attempt, pace.chance(), error.asked_wait_s)
            if pace.clock() + pause >= ends:
                raise _given_up(error, attempt + 1, within_s) from error
            log.debug("attempt %d: %s; again in %.2f s", attempt + 1, error, pause)
            before = f"; before that: {error}"
        await pace.sleep(pause)
    raise AssertionError("it is counted without end")


def _given_up(error: Unreachable, attempts: int, within_s: float) -> Unreachable:
    tried = f"{attempts} attempt{'' if attempts == 1 else 's'} within {spoken_s(within_s)}"
    asked = "" if error.asked_wait_s is None else f"; it asks to be left alone for {spoken_s(error.asked_wait_s)}"
    return Unreachable(f"{error} ({tried}{asked})")
