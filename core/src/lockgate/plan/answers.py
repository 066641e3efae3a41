"""The look-ups in the logs that one plan of a query needs, and the search for the plan's target.

Each look-up may be a request to the broker, so its answer is kept. There are three kinds:

1. the first unread record of each split (`heads`);
2. the first unread record of each split above an event time (`cut`), repeated until the search has
   found its target;
3. the highest event time in each log (`ask_highest`). It is needed for the first guess of a search
   if no earlier plan gives one, and whenever the budgets allow a higher target than the clock
   alone.

`lockgate.plan.draft` then makes the plan from these answers. `closed` answers make no more
look-ups. If a plan needs an answer that they lack, they raise `Unasked`, and the caller may `add`
the answer.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic

from lockgate import watermark
from lockgate.plan.model import Backlog, Bounds, Head, Limit, Split, SplitLog
from lockgate.plan.search import AIM, MOST_PROBES, Curve, Cut, Found, greatest_within

MOST_LOOK_UPS = MOST_PROBES + 7
"""The maximum number of look-ups in a plan: heads, highest times, a search in two parts, cuts."""


class Unasked(LookupError):
    """Raised if closed answers lack the cut at `event_time` (ms), or if no batch may end there yet.
    If `event_time` is None, they lack the highest event times.
    """

    def __init__(self, event_time: int | None) -> None:
        super().__init__("the logs were not asked for this")
        self.event_time = event_time


@dataclass(slots=True)
class _Asked(Generic[Split]):
    """The results of the look-ups so far.

    Attributes:
        cuts: Maps the event time (ms) of a look-up to the highest event time with the same cut, and
            to that cut.
        highest: The highest event time (ms) in each log, or None if not looked up yet.
        look_ups: The number of look-ups.
        confirmed: The event times (ms) at which a batch may end if the answers are closed.
    """

    cuts: dict[int, tuple[int, Mapping[Split, Head]]] = field(default_factory=dict)
    highest: Mapping[Split, int] | None = None
    look_ups: int = 0
    confirmed: set[int] = field(default_factory=set)


class LogAnswers(Generic[Split]):
    """The answers from the logs that one draft needs.

    The *cut* at an event time is the first unread record of each split above that time. The
    constructor makes the look-ups in `log`, and raises the log's errors. `learned` is the `curve`
    of the previous plan's answers, or None for the first plan.

    Attributes:
        backlogs: The unread part of each split.
        bounds: The bounds that the plan assumes.
        budgets: The maximum number of offsets in a batch for each source, or None for no limit.
        heads: The first unread record of each split.
        blank: The splits whose unread records all lack a credible event time.
        first: The lowest event time (ms) in `heads`, or MAX if there is none.
        horizon: The event time (ms) that the query must not exceed even without its group.
        found: The result of the search.
    """

    def __init__(
        self,
        backlogs: Mapping[Split, Backlog],
        log: SplitLog[Split],
        bounds: Bounds,
        budgets: Mapping[int, int | None],
        learned: Curve | None = None,
    ) -> None:
        self.backlogs, self.bounds, self.budgets = backlogs, bounds, budgets
        self._log: SplitLog[Split] | None = log
        self._learned = learned
        self._asked = _Asked[Split]()
        self._probes = 0
        self.heads: Mapping[Split, Head] = {}
        if any(backlog.offsets for backlog in backlogs.values()):
            self._asked.look_ups += 1
            self.heads = log.heads()
        self.blank = {split for split, backlog in backlogs.items() if backlog.offsets and split not in self.heads}
        self.first = _lowest(self.heads)
        self._unread = dict.fromkeys((backlog.source for backlog in backlogs.values()), 0)
        for split in self.heads:
            self._unread[backlogs[split].source] += backlogs[split].offsets
        self.horizon = self.clock_horizon()
        self.found = self._search()
        self.cut(self.found.target)

    def closed(self) -> "LogAnswers[Split]":
        """Return a copy that raises `Unasked` instead of making look-ups. A batch may end at the
        target that the search has found.
        """
        closed = copy.copy(self)
        closed._log = None
        closed._asked.confirmed.add(self.found.target)
        return closed

    def add(self, lacking: Unasked, log: SplitLog[Split], confirm: Callable[[int, Mapping[Split, Head]], bool]) -> None:
        """Look up the answer that `lacking` names, and keep it. Errors of `log` propagate.

        If the answer is the cut at an event time (ms), which consists of each split's first unread
        record above it, a batch may end there afterwards. `confirm(event_time, cut)` returns False
        if the look-up was wrong. The look-up is then repeated until `confirm` returns True.
        """
        asking = copy.copy(self)
        asking._log = log
        event_time = lacking.event_time
        if event_time is None:
            asking.ask_highest()
            return
        while not confirm(event_time, asking.cut(event_time)) and event_time >= self.first:
            self._asked.cuts = {
                asked: cut for asked, cut in self._asked.cuts.items() if not asked <= event_time <= cut[0]
            }
        self._asked.confirmed.add(event_time)

    @property
    def look_ups(self) -> int:
        return self._asked.look_ups

    def cut(self, event_time: int) -> Mapping[Split, Head]:
        """Return each split's first unread record above `event_time` (ms), with a look-up if
        needed. Raises `Unasked` instead of making a look-up if these answers are closed.
        """
        if event_time < self.first:
            return self.heads
        if event_time == watermark.MAX:
            return {}
        for asked, (until, heads) in self._asked.cuts.items():
            if asked <= event_time <= until:
                return heads
        if self._log is None:
            raise Unasked(event_time)
        self._asked.look_ups += 1
        heads = self._log.first_after(event_time)
        self._asked.cuts[event_time] = (max(event_time, _lowest(heads) - 1), heads)
        return heads

    def stops(self, event_time: int) -> Mapping[Split, Head]:
        """Return the cut for a batch that ends at `event_time` (ms). Raises `Unasked` if these
        answers are closed and `event_time` is not confirmed.
        """
        if self._log is None and event_time not in self._asked.confirmed:
            raise Unasked(event_time)
        return self.cut(event_time)

    def ask_highest(self) -> Mapping[Split, int]:
        if self._asked.highest is None:
            if self._log is None:
                raise Unasked(None)
            self._asked.look_ups += 1
            self._asked.highest = self._log.highest()
        return self._asked.highest

    @property
    def limit(self) -> Limit:
        """The reason why the query alone, without its group, would read no further."""
        if self.found.target < self.horizon:
            return Limit.BUDGET
        return Limit.HORIZON if self.cut(self.found.target) else Limit.END

    @property
    def curve(self) -> Curve | None:
        """The part of the budget that a batch uses, by the event time at which it ends. The next
        plan's search begins with this curve. It is None until a look-up has measured a point.
        """
        measured = [(event_time, self.use(heads)) for event_time, (_, heads) in self._asked.cuts.items() if heads]
        return Curve.through([(self.first - 1, 0.0), *measured], self._learned) if measured else self._learned

    # -- the greatest T within the budgets and the horizon --

    def _search(self) -> Found:
        found = self._within(self.first - 1)
        if found.target < self.horizon or not self.cut(found.target):
            return found
        # The budgets reach beyond what the clock alone allows. The logs may allow more.
        self.ask_highest()
        by_logs = watermark.add(min(map(self.own_end_watermark, self.backlogs)), self.bounds.max_drift)
        self.horizon = max(self.horizon, by_logs)
        return self._within(max(found.target, self.first - 1)) if found.target < self.horizon else found

    def _within(self, low: int) -> Found:
        if low >= self.horizon or self.use({}) <= 1:  # all unread records fit the budgets
            return Found(self.horizon, None)
        most = max(1, MOST_PROBES - self._probes)
        return greatest_within(self.look, low, self.horizon, self._first_guess(low), most, self._has_asked_enough)

    def _has_asked_enough(self) -> bool:
        return self._log is None or self._log.read_budget_spent

    def _first_guess(self, low: int) -> int:
        if self._learned is not None:
            return self._learned.reaches(low, AIM)
        # No plan came before this one: take the backlog to be even between its first record and
        # the last one in the logs.
        last = max(self.ask_highest().values(), default=low)
        return low + int((last - low) * AIM / self.use({}))

    def look(self, event_time: int) -> Cut:
        """Return the `Cut` at `event_time` (ms). A look-up counts toward the search's maximum."""
        asked = self.look_ups
        heads = self.cut(event_time)
        self._probes += self.look_ups - asked
        spent = self._spent(heads)
        return Cut(event_time, self._part(spent), _lowest(heads), self._full(heads, spent))

    def use(self, heads: Mapping[Split, Head]) -> float:
        """Return the fraction of its budget that a batch uses if it stops before the records
        `heads`. 1.0 is the whole budget. With several sources, the highest fraction counts.
        """
        return self._part(self._spent(heads))

    def _spent(self, heads: Mapping[Split, Head]) -> Mapping[int, int]:
        """Return how many offsets of each source come before `heads`, without `blank` splits."""
        offsets = dict(self._unread)
        for split, head in heads.items():
            backlog = self.backlogs[split]
            offsets[backlog.source] -= max(0, backlog.end - max(backlog.position, head.offset))
        return offsets

    def _part(self, spent: Mapping[int, int]) -> float:
        return max(
            (spent.get(source, 0) / budget for source, budget in self.budgets.items() if budget is not None),
            default=0.0,
        )

    def _full(self, heads: Mapping[Split, Head], spent: Mapping[int, int]) -> int:
        """Return the lowest event time (ms) at which a batch would certainly exceed a budget, or
        MAX. The batch would contain the `spent` offsets of each source, which come before `heads`,
        and the records in `heads` up to that event time.
        """
        times: dict[int, list[int]] = {}
        for split, head in heads.items():
            times.setdefault(self.backlogs[split].source, []).append(head.event_time)
        found = watermark.MAX
        for source, unread in times.items():
            budget = self.budgets.get(source)
            left = len(unread) if budget is None else budget - spent[source]
            if 0 <= left < len(unread):
                found = min(found, sorted(unread)[left])
        return found

    # -- horizons --

    def clock_horizon(self) -> int:
        """Return the `horizon` (ms) by the clock and the lag bounds alone, without asking Kafka."""
        clock = min(map(self.by_clock, self.backlogs), default=watermark.MAX)
        return watermark.add(clock, self.bounds.max_drift - 1)

    def by_clock(self, split: Split) -> int:
        """Return the event time (ms) below which no record of the split is still to come, judged by
        the clock and the producer's lag.
        """
        backlog = self.backlogs[split]
        return watermark.add(
            backlog.known_until, -(self.bounds.idle_timeout if backlog.lag_bound is None else backlog.lag_bound)
        )

    def own_end_watermark(self, split: Split) -> int:
        """Return h(s) of `lockgate.plan.model`: the split's watermark (ms) if it were read to its
        end.

        `Backlog.disorder` applies if it is not None. Reports to the group always assume
        `Bounds.disorder`, which may be smaller.
        """
        disorder = self.backlogs[split].disorder
        return self.end_watermark(split, self.bounds.disorder if disorder is None else disorder)

    def end_watermark(self, split: Split, disorder: int) -> int:
        """Return the split's watermark (ms) if it were read to its end, with this `disorder` (ms).
        It follows from the clock alone until the highest event times have been looked up.
        """
        by_clock = watermark.add(self.by_clock(split), -1)
        highest = None if self._asked.highest is None else self._asked.highest.get(split)
        return by_clock if highest is None else max(by_clock, highest - disorder - 1)


def _lowest(heads: Mapping[Split, Head]) -> int:
    """Return the lowest event time (ms) of these records, or MAX if there are none."""
    return min((head.event_time for head in heads.values()), default=watermark.MAX)
