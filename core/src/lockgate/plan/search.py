"""The search for the greatest event time that a budget reaches, by few look-ups.

Used by the planner. Each look-up asks the broker where every split stands at one event time, so
what counts is their number, not the arithmetic. `use(T)` says which part of the budget a batch up
to `T` needs; it never falls as `T` rises. A look-up also shows the lowest event time that is left
unread, and up to there `use` stays what it is: gaps cost nothing. And it shows the event time at
which the next records of the splits, one of each, are more than the budget has left: where there
are many splits with few records, that alone all but ends the search.

The search begins with what the last plans taught (`Curve`), goes by the straight line between what
it knows on either side, and halves the interval whenever the line neither did nor came close. Now
and then it tries the next event time there is, which ends the search where many records share one.
Dense feeds take one or two look-ups. After `MOST_PROBES` a batch that reads less than it could is
taken.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lockgate import watermark

# of the budget: one more look-up would cost more than the rest of the budget is worth
GOOD_ENOUGH = 0.99
AIM = 0.995
MOST_PROBES = 16
MOST_POINTS = 32  # that a curve keeps
_CLOSE = 0.1  # of a budget: a line that missed by less will hit with its next try
_PATIENT = 4  # look-ups; what has not come of coming close by then will not
_SLOPE_OVER = 0.5  # of a budget: over less, a slope is mostly noise


class Found(NamedTuple):
    """`target`: the event time (ms) to read up to; `overfull`: `target` + 1, if that alone is known
    to break the budget.
    """

    target: int
    overfull: int | None


class Cut(NamedTuple):
    """What a look-up at `event_time` (ms) showed. `use`: 1.0 is the whole budget. `next`: the
    lowest event time left unread (ms), MAX if nothing is. `full`: an event time (ms) that must
    break the budget, the lowest that this look-up shows; MAX if it shows none.
    """

    event_time: int
    use: float
    next: int
    full: int = watermark.MAX


@dataclass(frozen=True, slots=True)
class Curve:
    """What is believed of `use` before anything is asked. `points`: (event time in ms, use), rising
    in both; only differences count.
    """

    points: tuple[tuple[int, float], ...]

    @classmethod
    def through(cls, measured: Iterable[tuple[int, float]], before: "Curve | None" = None) -> "Curve":
        """The curve through what was measured, and beyond that as it was believed `before`."""
        points = sorted(measured)
        if before is not None:
            last, use = points[-1]
            lift = use - before.at(last)
            points += [(event_time, max(use, at + lift)) for event_time, at in before.points if event_time > last]
        return cls(tuple(points[:MOST_POINTS]))

    def at(self, event_time: int) -> float:
        """The use up to an event time (ms); 0 before the first point."""
        after = bisect_right(self.points, event_time, key=_event_time)
        if after == 0:
            return 0.0
        left, use = self.points[after - 1]
        if after == len(self.points):
            return use + (event_time - left) * self._last_slope()
        right, at = self.points[after]
        return use + (at - use) * (event_time - left) / (right - left)

    def reaches(self, low: int, use: float) -> int:
        """Up to which event time (ms) a batch from `low` on would go that uses so much."""
        wanted = self.at(low) + use
        after = bisect_left(self.points, wanted, key=_use)
        if after == len(self.points):
            last, at = self.points[-1]
            slope = self._last_slope()
            return low if slope <= 0 else max(low, last) + int((wanted - max(at, self.at(low))) / slope)
        if after == 0:
            return max(low, self.points[0][0])
        (left, below), (right, above) = self.points[after - 1], self.points[after]
        return left + int((right - left) * (wanted - below) / (above - below))

    def _last_slope(self) -> float:
        last, use = self.points[-1]
        before = max(0, bisect_right(self.points, use - _SLOPE_OVER, key=_use) - 1)
        first, at = self.points[before]
        return (use - at) / (last - first) if last > first else 0.0


def greatest_within(
    look: Callable[[int], Cut],
    low: int,
    high: int,
    guess: int,
    most: int = MOST_PROBES,
    enough: Callable[[], bool] = lambda: False,
) -> Found:
    """The greatest event time in [`low`, `high`] (ms) whose `use` is at most 1, or one that uses at
    least 99 % of the budget.

    `low` must be known to be within the budget. With `low >= high` the answer is `high`, without a
    look-up. After `most` look-ups, or once `enough` says so, whatever uses some of the budget is
    taken; where nothing does yet, one more look-up finds the least that does.
    """
    if low >= high:
        return Found(high, None)
    under, over = _raised(look(low), high), None
    # the lowest event time that is known to break the budget, or is out of bounds
    broken = min(under.full, high + 1)
    halve, probes = False, 0
    while under.event_time < high and under.use < GOOD_ENOUGH:
        if broken <= high and broken - under.event_time == 1:
            return Found(under.event_time, broken)
        if under.use > 0 and enough():
            break
        if probes >= most:
            return Found(under.event_time, None) if under.use > 0 else _least(look, under, high)
        if over is not None and probes % 6 == 4:
            probe = under.next  # many records may share it: then what is below is the answer
        else:
            probe = guess if probes == 0 else _further(low, under) if over is None else _between(under, over, halve)
        probe = max(under.event_time + 1, min(probe, broken - 1))
        width = None if over is None else over.event_time - under.event_time
        cut, probes = look(probe), probes + 1
        under, over = (_raised(cut, high), over) if cut.use <= 1 else (under, cut)
        broken = min(broken, under.full, high + 1 if over is None else over.event_time)
        wider = width is not None and over is not None and 2 * (over.event_time - under.event_time) > width
        halve = wider and (abs(cut.use - AIM) > _CLOSE or probes > _PATIENT)
    return Found(under.event_time, None)


def _raised(cut: Cut, high: int) -> Cut:
    """The same cut at the greatest event time for which it holds."""
    return cut._replace(event_time=max(cut.event_time, min(cut.next - 1, high)))


def _least(look: Callable[[int], Cut], under: Cut, high: int) -> Found:
    """Nothing is known that is within the budget and reads anything: the lowest event time that is
    left, and be it only one record.
    """
    cut = look(under.event_time + 1)
    return Found(_raised(cut, high).event_time, None) if cut.use <= 1 else Found(under.event_time, cut.event_time)


def _further(low: int, under: Cut) -> int:
    """No upper side is known yet: as far as the density so far promises, but at least twice as far
    as before.
    """
    distance = under.event_time - low
    promised = distance * AIM / under.use if under.use > 0 else 0.0
    return low + max(2 * distance, int(min(promised, 1000.0 * distance)))


def _between(under: Cut, over: Cut, halve: bool) -> int:
    width = over.event_time - under.event_time
    if halve:
        return under.event_time + width // 2
    return under.event_time + int(width * (AIM - under.use) / (over.use - under.use))


def _event_time(point: tuple[int, float]) -> int:
    return point[0]


def _use(point: tuple[int, float]) -> float:
    return point[1]
