"""The lag of one split's producer behind the clock, learned from its records.

**What a producer shows.** A plan looks at a split at the time `t` and sees where its log ends. The
first record after that end, with event time `e`, was appended after `t`. So its producer was at
least `t − e` behind the clock. Plans need exactly this figure: if the plan at `t` had assumed a lag
of `t − e` or more, the record could not have been late. A producer on time shows 0, however long a
plan takes. A producer that commits every five minutes shows five minutes.

**The bound** of a split is the lag that plans assume for its producer: the lag that the producer
has shown plus a quarter (`MARGIN`) and the out-of-orderness `disorder`. It is at least `max_drift`
less a `grace` (below). A lower bound would let plans read beyond the present time, where there are
only records that are stamped in the future.

    bound(s) = max(max_drift − grace, 1.25 · shown(s) + disorder)

* *Remembered*: the greatest lag counts in full for an hour, then its weight halves every hour.
* *Silent*: a split that has brought nothing for a minute holds back the others by
  `ProducerLag.limit` at most. Otherwise a split that once resumed half an hour late would delay all
  others by half an hour.
* *Single absurd records*: a record that is older than a previous one in its own log, by more than
  `disorder`, proves nothing about the producer. A lag above `ProducerLag.limit` counts only if the
  producer shows such a lag twice within an hour. A lag above `ProducerLag.far`, a day or more, is
  not remembered.
* *Hidden*: an open transaction hides its own records and all later ones. The longer the transaction
  is open, the further behind the clock these records will be when they appear.

The `grace` allows for records that are on time but stamped after a plan has read the clock. They
come while the plan waits for the broker or, in a group, until the next plan has reached the other
readers.

**Memory.** All that is known of a producer is kept in one `Shown`, from which a restarted run can
go on. If no plan has looked at a split for an hour, its producer is no longer `known`: the producer
may have changed, and records from that time show nothing of its lag. The caller decides how to
treat a split whose producer is not `known`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lockgate.errors import InvalidValue
from lockgate.plan.far_behind import FAR_MS
from lockgate.plan.model import Head
from lockgate.watermark import MAX, MIN, add

MARGIN = 1.25
ACTIVE_MS = 60_000
REMEMBERED_MS = 3_600_000
GRACE_MS = 100
_GROWTH = 1.125  # a remembered lag that is too low by less is still enough, because of MARGIN
_TIMES = ("shown_at", "beyond_at", "looked_at", "met_at", "moved_at")
_LEAP_MS = 86_400_000  # a clock that was set back by more than this is taken for a fault


class Shown(NamedTuple):
    """All that is known of one split's producer. Times are wall-clock ms, and MIN means never. A
    *look* is a call of `ProducerLag.look`, in which a plan records what it has seen of the log.

    Attributes:
        known: True if the producer has shown a lag, or was found silent.
        shown: The greatest remembered lag (ms).
        shown_at: The time at which the producer showed this lag.
        last: The lag (ms) that was shown last.
        beyond_at: The last time of a lag above `ProducerLag.limit` that did not count. If such a
            lag is shown again within an hour, it counts.
        end: The end offset of the log at the last look. It is -1 before the first look, and after
            `ProducerLag.forget_end`.
        looked_at: The time at which a plan last looked at the log.
        met_at: The time of the first look, or of the first one after `ProducerLag.forget_end`.
        moved_at: The time at which the log was last seen to grow.
        highest: The highest event time (ms) among the first unread records of all looks so far.
        hidden_since: The time since which an open transaction has hidden records after `end`, or
            MAX if no records are hidden.
    """

    known: bool = False
    shown: int = 0
    shown_at: int = MIN
    last: int = 0
    beyond_at: int = MIN
    end: int = -1
    looked_at: int = MIN
    met_at: int = MIN
    moved_at: int = MIN
    highest: int = MIN
    hidden_since: int = MAX

    @classmethod
    def restored(cls, values: object, now: int) -> "Shown":
        """Restore a state from the list of its `values`. Times after `now` (wall clock, ms) become
        `now`, except `hidden_since`. Raises `InvalidValue` if no state can have such values.
        """
        if not isinstance(values, Sequence) or len(values) != len(cls._fields) or type(values[0]) is not bool:
            raise InvalidValue("shown", f"must be {len(cls._fields)} values, of which the first is true or false")
        if any(type(value) is not int or not MIN <= value <= MAX for value in values[1:]):
            raise InvalidValue("shown", "must hold whole numbers of 64 bits")
        found = cls(*values)
        clocks = {name: getattr(found, name) for name in _TIMES}
        lags = found.shown, found.last
        if not 0 <= min(lags) <= max(lags) <= now or found.end < -1 or max(clocks.values()) > now + _LEAP_MS:
            raise InvalidValue("shown", "must hold lags and an offset of 0 or more, and times that have come")
        return found._replace(**{name: min(at, now) for name, at in clocks.items()})

    def covers(self, later: "Shown", slack: int) -> bool:
        """Return whether this stored state covers all lags of the newer state `later`. If so,
        `later` need not be stored. Lags up to `slack` (ms) do not count.
        """
        grown = any(
            needed > max(slack, _GROWTH * there)
            for needed, there in ((later.shown, self.shown), (later.last, self.last))
        )
        renewed = later.shown > slack and later.shown_at - self.shown_at > REMEMBERED_MS // 2
        return not grown and not renewed and self.known >= later.known


_NOTHING = Shown()


@dataclass(slots=True)
class ProducerLag:
    """The lag of one split's producer.

    A silent split holds back the others by at most `limit` (ms). If the split is `far_behind`, no
    other split waits for it. `state` contains all that calls of `look` have shown so far.
    """

    limit: int
    state: Shown = _NOTHING
    far_behind: bool = False

    def look(
        self, now: int, position: int, end: int, first: Head | None, disorder: int = 0, hidden_since: int | None = None
    ) -> int | None:
        """Record an observation of the split's log. Return the producer lag (ms) observed since the
        previous one, or None if the log does not show it.

        Args:
            now: The time (wall clock, ms) just before the plan asked the broker.
            position: The offset up to which the split was read.
            end: The end offset of the log.
            first: The first unread record, or None if there is none.
            disorder: The out-of-orderness (ms) of the records.
            hidden_since: The time (ms) since which an open transaction has hidden records after
                `end`, or None if no records are hidden.

        Returns:
            The lag, 0 or more, of the first record appended after the previous observation. None if
            `first` is not that record or is out of order, or if the previous observation is more
            than an hour old.
        """
        before = self.state
        met = before.end >= 0
        aged = now - before.looked_at > REMEMBERED_MS
        in_order = first is None or first.event_time >= before.highest - disorder
        self.state = before._replace(
            known=before.known and not (met and aged),
            end=end,
            looked_at=now,
            met_at=before.met_at if met else now,
            moved_at=now if met and end > before.end else before.moved_at,
            highest=before.highest if first is None else max(first.event_time, before.highest),
            hidden_since=MAX if hidden_since is None else hidden_since,
        )
        if first is None or aged or before.end != position or first.offset < before.end or not in_order:
            return None  # the record came before the last look, or in a time without looks
        return self.learn(before.looked_at - first.event_time, now)

    def learn(self, lag: int, now: int) -> int:
        """Record a lag (ms) shown at `now` (ms), and return it. A negative lag counts as 0."""
        lag, state = max(0, lag), self.state
        self.state = state = state._replace(known=True, last=lag)
        if lag > self.far:
            return lag
        if lag > self.limit and not now - state.beyond_at <= REMEMBERED_MS:
            self.state = state._replace(beyond_at=now)
        elif lag >= self.remembered(now):
            self.state = state._replace(shown=lag, shown_at=now)
        return lag

    def forget_end(self) -> None:
        """Forget the log's end, because a transaction hides the records after it. So the next call
        of `look` returns None.
        """
        self.state = self.state._replace(end=-1)

    def is_silent(self) -> None:
        """Record that the producer was found silent, which makes it `known`."""
        self.state = self.state._replace(known=True)

    def remembered(self, now: int) -> int:
        """Return the largest remembered lag (ms), reduced by its age at `now` (ms). It keeps its
        full value for an hour, and then halves every hour.
        """
        shown, past = self.state.shown, now - self.state.shown_at - REMEMBERED_MS
        return shown if past <= 0 else int(shown * 0.5 ** min(64.0, past / REMEMBERED_MS))

    @property
    def known(self) -> bool:
        """Whether the producer has shown a lag, or was found silent."""
        return self.state.known

    def clock_moved(self, by: int) -> None:
        """Move all recorded times by `by` (ms), because the clock was moved by that much. If `by`
        is negative, the recorded lags were measured too large, so they are reduced by −`by`.
        """
        state, less = self.state, min(0, by)
        moved: dict[str, Any] = {name: add(getattr(state, name), by) for name in (*_TIMES, "hidden_since")}
        self.state = state._replace(shown=max(0, state.shown + less), last=max(0, state.last + less), **moved)

    @property
    def silent_since(self) -> int | None:
        """The time (ms) at which the log was last seen to grow, or None if it never was."""
        return None if self.state.moved_at == MIN else self.state.moved_at

    @property
    def hidden_since(self) -> int | None:
        """The time (ms) since which an open transaction has hidden records after the log's end, or
        None if no records are hidden.
        """
        return None if self.state.hidden_since == MAX else self.state.hidden_since

    @property
    def far(self) -> int:
        """The greatest lag (ms) that can be remembered: a day, or `limit` if that is more."""
        return max(FAR_MS, self.limit)

    def is_far(self, now: int, bound: int) -> bool:
        """Return whether the producer still appends at `now` (ms), and lags by over `bound` ms."""
        return self.state.last > bound and self.is_active(now)

    def is_active(self, now: int) -> bool:
        """Return whether the log was seen to grow within `ACTIVE_MS` before `now` (ms)."""
        return now - self.state.moved_at <= ACTIVE_MS

    def expected(self, now: int, disorder: int = 0) -> int:
        """Return how far (ms) behind the clock the next record may be at `now` (ms), by the lags
        shown so far and the out-of-orderness `disorder` (ms).
        """
        shown, hidden_since = int(MARGIN * self.remembered(now)), self.hidden_since
        if self.is_active(now) and not self.far_behind:
            shown = max(shown, int(MARGIN * self.state.last))
        else:
            shown = min(shown, self.limit)
        shown += disorder if shown else 0
        return shown if hidden_since is None else max(shown, int(MARGIN * (now - hidden_since)))

    def bound(self, now: int, max_drift: int, disorder: int = 0, grace: int = GRACE_MS) -> int:
        """Return the lag (ms) that plans assume at `now` (ms). It is `expected`, but at least
        `max_drift` − `grace`, and at least half of `max_drift`.
        """
        return max(max_drift - min(grace, max_drift // 2), self.expected(now, disorder))
