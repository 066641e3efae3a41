"""Aligned runs over logs in memory, by a wall clock that stands, or goes with the monotonic one: at
NOW_MS, 30 days after T0.
"""

import threading
import time as clocks
from collections.abc import Callable
from typing import Any

from lockgate_http.group.membership import Membership
from lockgate_spark import Alignment, WaitedTooLong
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.planning.look import Begin
from support.members import MINUTE
from support.runs import RunInMemory, SourceInMemory

T0 = 1_767_225_600_000
NOW_MS = T0 + 30 * 24 * 60 * MINUTE


def minutes(*of: float) -> list[int]:
    """Event times so many minutes after T0."""
    return [T0 + int(m * MINUTE) for m in of]


def live(*behind: float) -> list[int]:
    """Event times so many minutes before now."""
    return [NOW_MS - int(m * MINUTE) for m in behind]


BEGAN_S = 1_000.0  # of a monotonic clock in memory


def going_with(clock: Callable[[], float]) -> Callable[[], float]:
    """A monotonic clock that goes on by itself, and with a wall clock that is set by hand."""
    return lambda: clocks.monotonic() + clock()


class TimeInMemory:
    """A monotonic clock, in seconds, that moves only while a caller sleeps."""

    def __init__(self) -> None:
        self.now = BEGAN_S

    def ticks(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def session(
    *sources: SourceInMemory,
    run: RunInMemory | None = None,
    membership: Membership | None = None,
    clock: Callable[[], float] | None = None,
    time: "TimeInMemory | None" = None,
    begin: Begin | None = None,
    **alignment: Any,
) -> AlignedRun:
    """A run to be closed once for each source. Its alignment promises records in order: too few
    records would not show it. `time`: for the monotonic clock; without it that one goes on by
    itself, and with `clock`.
    """
    if clock is None:
        clock = (lambda: NOW_MS / 1000) if time is None else lambda: NOW_MS / 1000 + time.now - BEGAN_S
    made = AlignedRun(
        Alignment(**{"max_out_of_orderness": 0, **alignment}),
        run or RunInMemory(),
        membership,
        clock,
        begin=begin,
        **({"ticks": going_with(clock)} if time is None else {"ticks": time.ticks, "sleep": time.sleep}),
    )
    for i, source in enumerate(sources):
        made.add(i, source)
    return made


def asked_aside(one: AlignedRun, start: Offsets) -> tuple[threading.Thread, list[Any]]:
    """Asks on a thread of its own, as Spark does; the answer, or what it failed with, is in the
    list.
    """
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(one.latest_offset(0, start))
        except WaitedTooLong as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, answers
