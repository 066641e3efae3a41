"""How far behind the clock the producer of one split may be: learned from what it has shown, where
nobody promises it.

**What a producer shows.** A plan looks at a split at wall clock `t` and sees where its log ends.
The first record behind that end, with event time `e`, came after `t`: so its producer was at least
`t − e` behind the clock. That is the very figure a horizon needs: with a bound of `t − e` or more
at that look, the record could not have come late. An on-time producer shows nothing by it, however
long a plan takes; and a producer that commits every five minutes shows five minutes.

**The bound** of a split is what its producer has shown and a quarter more (`MARGIN`), never below
the drift: a bound below that would only let records through that are stamped ahead of the clock.

    bound(s) = max(max_drift − grace, 1.25 · shown(s) + disorder)

* *Remembered*: the most that was shown counts fully for an hour, and half as much with each hour
  after that.
* *Silent*: of a split that has brought nothing for a minute, no more than `limit` is remembered: a
  split that wakes half an hour late once costs the others half an hour, and somebody has to say how
  much is too much. A split that appends holds the others by its last event time however far behind
  it is.
* *Single absurd records*: a record that is older than one before it in its own log by more than
  `disorder` says nothing of the producer. A lag beyond `limit` is remembered once it was shown
  twice.
* *Hidden*: an open transaction hides what follows it. The longer it is open, the further behind are
  the records that it will show.

A split that has shown nothing yet is not `known`; what that means is for the caller to say.
`grace`: what is stamped between the look at the clock and the broker's answer is on time, and in a
group what is stamped until the others hear of the next look. It lets nothing late that is stamped
by the clock or behind it.

Flink has no such part: `withIdleness` is a timeout that the user sets, and a split behind it is
late.
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
    """What the producer of one split has shown. `limit`: how much of it a silent split is waited
    for, ms. `shown`: the most that is remembered, ms, and `shown_at`: the wall clock (ms) of that.
    `known`: it has shown something, or was found to be silent.
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
        """As `kept` told it."""
        return cls(limit, shown, shown_at, known=True, _end=end, _looked_at=looked_at, _highest=highest)

    def kept(self) -> tuple[int, int, int, int, int]:
        """What another run may begin with; of a split that was looked at."""
        return self.shown, self.shown_at, self._end or 0, self._looked_at, self._highest

    def look(
        self, now: int, position: int, end: int, first: Head | None, disorder: int = 0, hidden_since: int | None = None
    ) -> int | None:
        """A plan looks at `now` (wall clock in ms, before the broker was asked): what is read up to
        `position`, and the log ends at `end`.

        `first`: the first unread record. `disorder`: how far out of order (ms) records may be.
        `hidden_since`: wall clock (ms) since when something is hidden behind the end. Returns what
        the producer has shown since the last look (ms, 0 or more); None where it has shown nothing.
        """
        before, looked_at = self._end, self._looked_at
        self._end, self._looked_at, self._hidden_since = end, now, hidden_since
        if before is not None and end > before:
            self._moved_at = now
        if first is None:
            return None
        in_order, self._highest = first.event_time >= self._highest - disorder, max(first.event_time, self._highest)
        if before is None or before != position or first.offset < before or not in_order:
            return None  # it came before the last look, or while the split was not looked at
        return self.learn(looked_at - first.event_time, now)

    def learn(self, lag: int, now: int) -> int:
        """The producer has shown `lag` (ms) by a record that was found at `now`. Returns it, 0 or
        more.
        """
        self.known, self._last = True, max(0, lag)
        if lag > self.limit and not now - self._beyond_at <= REMEMBERED_MS:
            self._beyond_at = now
        elif lag >= self.remembered(now):
            self.shown, self.shown_at = max(0, lag), now
        return self._last

    def remembered(self, now: int) -> int:
        """The most that was shown (ms), as far as it is remembered at `now`."""
        past = now - self.shown_at - REMEMBERED_MS
        return self.shown if past <= 0 else int(self.shown * 0.5 ** min(64.0, past / REMEMBERED_MS))

    @property
    def silent_since(self) -> int | None:
        """Wall clock (ms) since when the log was not seen to grow; None where it never was."""
        return None if self._moved_at == MIN else self._moved_at

    @property
    def hidden_since(self) -> int | None:
        """As told at the last look."""
        return self._hidden_since

    def is_active(self, now: int) -> bool:
        """Whether the log has grown lately."""
        return now - self._moved_at <= ACTIVE_MS

    def expected(self, now: int, disorder: int = 0) -> int:
        """How far behind the clock (ms) a record may be that is still to come, going by what was
        shown, 0 or more.
        """
        shown = int(MARGIN * self.remembered(now))
        shown = max(shown, int(MARGIN * self._last)) if self.is_active(now) else min(shown, self.limit)
        shown += disorder if shown else 0
        return shown if self._hidden_since is None else max(shown, int(MARGIN * (now - self._hidden_since)))

    def bound(self, now: int, max_drift: int, disorder: int = 0, grace: int = GRACE_MS) -> int:
        """`expected` as far as it matters to others, who may be ahead by `max_drift` (ms)."""
        return max(max_drift - min(grace, max_drift // 2), self.expected(now, disorder))
