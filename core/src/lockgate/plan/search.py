"""The search for the greatest event time up to which a batch fits its budget, with few look-ups.

Each look-up asks the broker for the first record of every split above one event time, so the number
of look-ups matters, not the arithmetic. A look-up at `T` yields three values:

* `use(T)` is the part of the budget that a batch up to `T` needs. It never falls as `T` rises.
* The lowest event time left unread. `use` is the same up to just below it, so the search skips gaps
  between records.
* The lowest event time at which the next records of the splits alone exceed the rest of the budget.
  If there are many splits with few records each, it almost ends the search.

The search begins with a guess from the curve of the last plans (`Curve`). Then it interpolates
between the two nearest known points. If a step of interpolation neither halved the interval between
them nor came close to the budget, the next step halves the interval. Now and then the search tries
the lowest unread event time, which ends the search if many records share that time.

Dense feeds take one or two look-ups. After `MOST_PROBES` look-ups the search stops, and the batch
is smaller than it could be.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from lockgate import watermark

# of the budget: one more look-up would cost more than the rest of the budget is worth
GOOD_ENOUGH = 0.99
AIM = 0.995
MOST_PROBES = 16
MOST_POINTS = 32  # of a curve
_CLOSE = 0.1  # of a budget: a line that missed by less is likely to hit with its next try
_PATIENT = 4  # look-ups: after so many, coming close no longer counts
_SLOPE_OVER = 0.5  # of a budget: over less, a slope is mostly noise


class Found(NamedTuple):
    """The result of a search. `target` is the event time (ms) to read up to. `overfull` is `target`
    + 1 if a batch up to there is known to exceed the budget, else None.
    """

    target: int
    overfull: int | None


class Cut(NamedTuple):
    """The result of one look-up.

    Attributes:
        event_time: The event time (ms) of the look-up.
        use: The part of the budget that a batch up to `event_time` needs. 1.0 is all of it.
        next: The lowest event time (ms) left unread, or MAX if there is none.
        full: The lowest event time (ms) up to which a batch is known to exceed the budget, or MAX.
    """

    event_time: int
    use: float
    next: int
    full: int = watermark.MAX


@dataclass(frozen=True, slots=True)
class Curve:
    """An estimate of how much of the budget a batch needs, from the look-ups of earlier plans. The
    search takes its first guess from this curve.

    `points` are pairs of an event time (ms) and a use, both in rising order. The use is the part of
    the budget (1.0 is all of it) that reading up to that event time needs. It is cumulative: it
    counts from the start of an earlier batch. So a batch needs the use at its end − the use at its
    start.
    """

    points: tuple[tuple[int, float], ...]

    @classmethod
    def through(cls, measured: Iterable[tuple[int, float]], before: "Curve | None" = None) -> "Curve":
        """Return the curve through the `measured` pairs of event time (ms) and use. Beyond them, it
        continues in the shape of `before`, if that is not None.
        """
        points = sorted(measured)
        if before is not None:
            last, use = points[-1]
            lift = use - before.at(last)
            points += [(event_time, max(use, at + lift)) for event_time, at in before.points if event_time > last]
        return cls(tuple(points[:MOST_POINTS]))

    def at(self, event_time: int) -> float:
        """Return the interpolated use at an event time (ms). It is 0 before the first point, and
        rises beyond the last point as it did before it.
        """
        after = bisect_right(self.points, event_time, key=itemgetter(0))
        if after == 0:
            return 0.0
        left, use = self.points[after - 1]
        if after == len(self.points):
            return use + (event_time - left) * self._last_slope()
        right, at = self.points[after]
        return use + (at - use) * (event_time - left) / (right - left)

    def reaches(self, low: int, use: float) -> int:
        """Return the event time (ms) at which a batch that begins at `low` (ms) reaches this `use`,
        or `low` if it never does.
        """
        wanted = self.at(low) + use
        after = bisect_left(self.points, wanted, key=itemgetter(1))
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
        before = max(0, bisect_right(self.points, use - _SLOPE_OVER, key=itemgetter(1)) - 1)
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
    """Find the greatest event time from `low` to `high` (ms) whose `use` is at most 1. Any event
    time that uses at least 99 % of the budget will do.

    If `low` is not below `high`, the target is `high`, without a look-up. If the search ends early,
    the target is the best event time so far, provided that a batch up to it uses any of the budget.
    If it uses none after `most` look-ups, one more look-up tries the lowest unread event time.

    Args:
        look: A function that makes a look-up at an event time (ms).
        low: The event time (ms) of the first look-up, which must be within the budget.
        high: The highest event time (ms) to consider.
        guess: The event time (ms) of the second look-up.
        most: The number of look-ups above `low` after which the search ends.
        enough: A function that returns True to end the search early.
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
            probe = under.next  # if many records share it, the answer is just below it
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
    """Return `cut` with the highest event time, at most `high` (ms), that has the same result."""
    return cut._replace(event_time=max(cut.event_time, min(cut.next - 1, high)))


def _least(look: Callable[[int], Cut], under: Cut, high: int) -> Found:
    """End a search that found no records within the budget, by one more look-up.

    The look-up is at the lowest unread event time. If a batch up to there exceeds the budget, this
    event time becomes `overfull`. Otherwise, the target is the highest event time whose use is
    that of this look-up.
    """
    cut = look(under.event_time + 1)
    return Found(_raised(cut, high).event_time, None) if cut.use <= 1 else Found(under.event_time, cut.event_time)


def _further(low: int, under: Cut) -> int:
    """Return the next event time (ms) to try while no event time is known to exceed the budget. It
    follows from the density so far, but is at least twice as far from `low` as the last one.
    """
    distance = under.event_time - low
    promised = distance * AIM / under.use if under.use > 0 else 0.0
    return low + max(2 * distance, int(min(promised, 1000.0 * distance)))


def _between(under: Cut, over: Cut, halve: bool) -> int:
    width = over.event_time - under.event_time
    if halve:
        return under.event_time + width // 2
    return under.event_time + int(width * (AIM - under.use) / (over.use - under.use))
