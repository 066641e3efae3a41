"""The search for the greatest event time that a budget reaches, by few look-ups.

Used by the planner. Each probe asks the broker where every split stands at one event time, so what counts is the number of
probes, not the arithmetic. `use(T)` says which part of the budget a batch up to `T` needs; it never falls as `T` rises. The
search takes the caller's guess first, then goes by the straight line between what it knows on either side, and halves the
interval whenever the line did not: dense feeds need three or four probes, and no feed more than about twice log2 of the span.
"""

from collections.abc import Callable
from typing import NamedTuple

GOOD_ENOUGH = 0.99  # of the budget: one more look-up would cost more than the rest of the budget is worth
AIM = 0.995
MOST_PROBES = 24  # from here on a batch that reads anything at all is taken


class Found(NamedTuple):
    """`target`: the event time (ms) to read up to; `overfull`: `target` + 1, if that alone is known to break the budget."""

    target: int
    overfull: int | None


class _Point(NamedTuple):
    event_time: int
    use: float


def greatest_within(use: Callable[[int], float], low: int, high: int, guess: int, enough: Callable[[], bool] = lambda: False) -> Found:
    """The greatest event time in [`low`, `high`] (ms) whose `use` is at most 1, or one that uses at least 99 % of the budget.

    `low` must be known to be within the budget. With `low >= high` the answer is `high`, without a probe. Once `enough` says so, whatever
    uses some of the budget is taken.
    """
    if low >= high:
        return Found(high, None)
    under: _Point = _Point(low, use(low))
    over: _Point | None = None
    halve, probes = False, 0
    while under.event_time < high and under.use < GOOD_ENOUGH:
        if over is not None and over.event_time - under.event_time == 1:
            return Found(under.event_time, over.event_time)
        if under.use > 0 and (probes >= MOST_PROBES or enough()):
            break
        probe = guess if probes == 0 else _further(low, under) if over is None else _between(under, over, halve)
        probe = max(under.event_time + 1, min(probe, high if over is None else over.event_time - 1))
        width = None if over is None else over.event_time - under.event_time
        point, probes = _Point(probe, use(probe)), probes + 1
        under, over = (point, over) if point.use <= 1 else (under, point)
        halve = width is not None and over is not None and 2 * (over.event_time - under.event_time) > width
    return Found(under.event_time, None)


def _further(low: int, under: _Point) -> int:
    """No upper side is known yet: as far as the density so far promises, but at least twice as far as before."""
    distance = under.event_time - low
    promised = distance * AIM / under.use if under.use > 0 else 0.0
    return low + max(2 * distance, int(min(promised, 1000.0 * distance)))


def _between(under: _Point, over: _Point, halve: bool) -> int:
    width = over.event_time - under.event_time
    if halve:
        return under.event_time + width // 2
    return under.event_time + int(width * (AIM - under.use) / (over.use - under.use))
