"""Producer lag: how far behind the clock the producer of one split may be, learned from its
records.

**What a producer shows.** A plan looks at a split at wall clock `t` and sees where its log ends.
The first record behind that end, with event time `e`, was appended after `t`. So its producer was
at least `t − e` behind the clock. A horizon needs exactly this figure: with a bound of `t − e` or
more at that look, the record could not have come late. A producer on time shows 0, however long a
plan takes. A producer that commits every five minutes shows five minutes.

**The bound** of a split is the lag that its producer has shown, and a quarter more (`MARGIN`). It
is never below the drift: a lower bound would only let records through that are stamped ahead of the
clock.

    bound(s) = max(max_drift − grace, 1.25 · shown(s) + disorder)

* *Remembered*: the greatest lag counts fully for an hour, and half as much with each hour after it.
* *Silent*: a split that has brought nothing for a minute holds the others by `limit` at most. Else
  a split that once woke half an hour late would cost all others half an hour. A split that appends
  holds the others by its last event time, however far behind that is.
* *Single absurd records*: a record that is older than one before it in its own log, by more than
  `disorder`, says nothing of the producer. A lag beyond `limit` has to be shown twice.
* *Hidden*: an open transaction hides the records behind it. The longer it is open, the further
  behind these will be.

A split that has shown nothing yet is not `known`; the caller decides what follows. `grace`: records
that are stamped between the look at the clock and the broker's answer are on time; so are, in a
group, records that are stamped until the others hear of the next look. No record that is stamped by
the clock, or behind it, is late for that.

Flink has no such part: the user sets the timeout of `withIdleness`, and rows of a split behind it
are late.
"""

from dataclasses import dataclass

from lockgate.plan.model import Head
from lockgate.watermark import MIN

MARGIN = 1.25
ACTIVE_MS = 60_000
REMEMBERED_MS = 3_600_000
GRACE_MS = 100


@dataclass(slots=True)
class ProducerLag:
    """The lag of one split's producer. `limit`: the most that a silent split holds the others, ms.
    `shown`: the greatest remembered lag, ms; `shown_at`: its wall clock, ms. `known`: the producer
    has shown a lag, or was found silent.
    """

    limit: int
    shown: int = 0
    shown_at: int = 0
    known: bool = False
    _end: int | None = None  # of the log, at the last look
    _looked_at: int = MIN
    _moved_at: int = MIN  # when the end was last seen to move
    _highest: int = MIN  # event time of a first unread record so far
    _last: int = 0  # what was shown last
    _beyond_at: int = MIN  # when a lag beyond the limit was last shown
    _hidden_since: int | None = None

    @classmethod
    def restored(cls, limit: int, shown: int, shown_at: int, end: int, looked_at: int, highest: int) -> "ProducerLag":
        """The lag that `kept` returned in an earlier run."""
        return cls(limit, shown, shown_at, known=True, _end=end, _looked_at=looked_at, _highest=highest)

    def kept(self) -> tuple[int, int, int, int, int]:
        """The values that another run begins with, of a split that was looked at."""
        return self.shown, self.shown_at, self._end or 0, self._looked_at, self._highest

    def look(
        self, now: int, position: int, end: int, first: Head | None, disorder: int = 0, hidden_since: int | None = None
    ) -> int | None:
        """Takes in a plan's look at `now` (wall clock in ms, before the broker was asked). The
        split is read up to `position`, and its log ends at `end`.

        `first`: the first unread record. `disorder`: how far out of order (ms) records may be.
        `hidden_since`: wall clock (ms) since when records are hidden behind the end. Returns the
        lag that the producer has shown since the last look (ms, 0 or more); None where it showed
        none.
        """
        before, looked_at = self._end, self._looked_at
        self._end, self._looked_at, self._hidden_since = end, now, hidden_since
        if before is not None and end > before:
            self._moved_at = now
        if first is None:
            return None
        in_order, self._highest = first.event_time >= self._highest - disorder, max(first.event_time, self._highest)
        if before is None or before != position or first.offset < before or not in_order:
            return None  # the record came before the last look, or in a time without looks
        return self.learn(looked_at - first.event_time, now)

    def learn(self, lag: int, now: int) -> int:
        """Takes in a lag (ms) that a record showed at `now`. Returns it, 0 or more."""
        self.known, self._last = True, max(0, lag)
        if lag > self.limit and not now - self._beyond_at <= REMEMBERED_MS:
            self._beyond_at = now
        elif lag >= self.remembered(now):
            self.shown, self.shown_at = max(0, lag), now
        return self._last

    def remembered(self, now: int) -> int:
        """The greatest lag (ms) that is remembered at `now`."""
        past = now - self.shown_at - REMEMBERED_MS
        return self.shown if past <= 0 else int(self.shown * 0.5 ** min(64.0, past / REMEMBERED_MS))

    @property
    def silent_since(self) -> int | None:
        """Wall clock (ms) when the log last grew; None where it never did."""
        return None if self._moved_at == MIN else self._moved_at

    @property
    def hidden_since(self) -> int | None:
        """Since when (wall clock, ms) records are hidden behind the end, as of the last look."""
        return self._hidden_since

    def is_active(self, now: int) -> bool:
        """Whether the log has grown lately."""
        return now - self._moved_at <= ACTIVE_MS

    def expected(self, now: int, disorder: int = 0) -> int:
        """How far behind the clock (ms) a record that is still to come may be, by the shown lags; 0
        or more.
        """
        shown = int(MARGIN * self.remembered(now))
        shown = max(shown, int(MARGIN * self._last)) if self.is_active(now) else min(shown, self.limit)
        shown += disorder if shown else 0
        return shown if self._hidden_since is None else max(shown, int(MARGIN * (now - self._hidden_since)))

    def bound(self, now: int, max_drift: int, disorder: int = 0, grace: int = GRACE_MS) -> int:
        """The bound (ms) for the horizon: `expected`, but never below what the drift allows
        anyway.
        """
        return max(max_drift - min(grace, max_drift // 2), self.expected(now, disorder))
