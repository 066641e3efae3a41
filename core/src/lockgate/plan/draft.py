"""The draft of a plan: how far a query would get alone, and what it reads under the group's
ceiling.

The rule is in `lockgate.plan.model`; this module carries it out. A draft asks the log in this
order, and keeps each answer, since each one is a request to the broker:

1. the first unread record of each split (`heads`);
2. where each split passes some event times (`_cut`), until the search has its target;
3. the highest event times in the logs, once the budgets reach beyond what the clock allows.
"""

from collections.abc import Mapping
from typing import Generic

from lockgate import watermark
from lockgate.plan.model import Backlog, Bounds, Head, Limit, Plan, PlannedState, Split, SplitLog, SplitPlan
from lockgate.plan.search import AIM, MOST_PROBES, Curve, Cut, Found, greatest_within

MOST_LOOK_UPS = MOST_PROBES + 7
"""How often one plan asks a log at most: heads, highest event times, the search (in two parts, each
of which may end with one look-up more), twice the horizon, the group's ceiling.
"""


class Draft(Generic[Split]):
    """A plan of one query's next batch, made without the group's ceiling. It asks the log, searches
    for the target, and raises what the log raises.

    `budgets`: offsets per batch and source, None for no limit. `learned`: the `curve` of the draft
    before. `heads`: the first unread record of each split; `first`: the lowest event time of one,
    MAX without any. `watermarks`: each split's, in ms, before the batch. `horizon`: the query's own
    part of the ceiling, in ms. `limit`: why the query alone would go no further. `look_ups`: how
    often the log was asked so far.
    """

    def __init__(
        self,
        backlogs: Mapping[Split, Backlog],
        log: SplitLog[Split],
        bounds: Bounds,
        budgets: Mapping[int, int | None],
        learned: Curve | None = None,
    ) -> None:
        self._backlogs, self._log, self._bounds, self._budgets = backlogs, log, bounds, budgets
        self._learned = learned
        # By event time: up to which event time the same records come next, and these records.
        self._cuts: dict[int, tuple[int, Mapping[Split, Head]]] = {}
        self._highest: Mapping[Split, int] | None = None
        self.look_ups = self._probes = 0
        self.heads = self._ask_heads()
        self._blank = {split for split, backlog in backlogs.items() if backlog.offsets and split not in self.heads}
        self.first = _lowest(self.heads)
        self._unread = self._unread_by_source()
        self.horizon = self._clock_horizon()
        self._own = self._search()
        self.limit = self._limit_of(self._own)
        self.watermarks = {split: self._watermark(split) for split in self._backlogs}

    @property
    def target(self) -> int:
        """The highest event time (ms) of the next batch without the group's ceiling."""
        return self._own.target

    @property
    def stops(self) -> Mapping[Split, Head]:
        """The first unread records above `target`."""
        return self._cut(self._own.target)

    @property
    def closed(self) -> int:
        """The event time (ms) up to which all has come, by the clock's part of every h(s)."""
        return watermark.add(self._clock_horizon(), -self._bounds.max_drift)

    @property
    def slowest(self) -> Split | None:
        """The split whose end bounds the horizon: the lowest h(s). None without splits."""
        return min(self._backlogs, key=self._own_end_watermark, default=None)

    @property
    def reach(self) -> int:
        """The target (ms), or the highest event time in the logs where that is lower."""
        if self.limit is Limit.BUDGET:
            return self._own.target
        return min(self._own.target, max(self._highest_times().values(), default=watermark.MIN))

    def reported_watermarks(self) -> dict[Split, int]:
        """`watermarks` for the group: those of splits that are read to their end rest on their last
        records too.

        A plan can go by the clock there. A group cannot: the watermark would fall back to the
        clock, and hold each reader with a backlog for all of `idle_timeout`.
        """
        if any(split not in self.heads for split in self._backlogs):
            self._highest_times()
        return {split: self._watermark(split) for split in self._backlogs}

    @property
    def curve(self) -> Curve | None:
        """The curve for the next draft, by this one and those before; None: none has measured."""
        measured = [(event_time, self._use(heads)) for event_time, (_, heads) in self._cuts.items() if heads]
        return Curve.through([(self.first - 1, 0.0), *measured], self._learned) if measured else self._learned

    def plan(self, ceiling: int = watermark.MAX, limit_there: Limit = Limit.GROUP) -> Plan[Split]:
        """Return the plan under the group's ceiling (ms), or the one that `limit_there` names."""
        target, overfull, limit = self._own.target, self._own.overfull, self.limit
        if ceiling < (target if overfull is None else overfull):
            target, overfull, limit = min(ceiling, target), None, limit_there
        heads = self._cut(target)
        ends = {split: self._end(split, heads) for split in self._backlogs}
        if overfull is not None and not any(
            ends[split] > backlog.position for split, backlog in self._backlogs.items()
        ):
            ends = self._share(self._cut(overfull))
        if ceiling > watermark.MIN:
            self._fill(ends)
        return Plan(
            target=target,
            ceiling=min(ceiling, self.horizon),
            limit=limit,
            splits={split: self._split_plan(split, end, heads, limit) for split, end in ends.items()},
            look_ups=self.look_ups,
        )

    # -- the greatest T within the budgets and the horizon --

    def extend(self, event_time: int) -> None:
        """Raise the target to an event time (ms) within the horizon, if that is within the budgets
        too. The search ends with 99 % of one.
        """
        own = self._own
        if own.target < event_time and own.overfull is None and self._use(self._cut(event_time)) <= 1:
            self._own = Found(event_time, None)

    def _search(self) -> Found:
        found = self._within(self.first - 1)
        if found.target < self.horizon or not self._cut(found.target):
            return found
        # The budgets reach beyond what the clock alone allows. The logs may allow more.
        self._highest_times()
        by_logs = watermark.add(min(map(self._own_end_watermark, self._backlogs)), self._bounds.max_drift)
        self.horizon = max(self.horizon, by_logs)
        return self._within(max(found.target, self.first - 1)) if found.target < self.horizon else found

    def _within(self, low: int) -> Found:
        if low >= self.horizon or self._use({}) <= 1:  # or all unread records fit the budgets
            return Found(self.horizon, None)
        most = max(1, MOST_PROBES - self._probes)
        return greatest_within(
            self.look, low, self.horizon, self._first_guess(low), most, lambda: self._log.read_budget_spent
        )

    def _first_guess(self, low: int) -> int:
        if self._learned is not None:
            return self._learned.reaches(low, AIM)
        # No plan came before this one: take the backlog to be even between its first record and
        # the last one in the logs.
        last = max(self._highest_times().values(), default=low)
        return low + int((last - low) * AIM / self._use({}))

    def look(self, event_time: int) -> Cut:
        """Return the use of a batch up to `event_time` (ms), and where the next records lie."""
        asked = self.look_ups
        heads = self._cut(event_time)
        self._probes += self.look_ups - asked
        spent = self._spent(heads)
        return Cut(event_time, self._part(spent), _lowest(heads), self._full(heads, spent))

    def _use(self, heads: Mapping[Split, Head]) -> float:
        """Return the neediest source's part of its budget for a batch up to `heads`."""
        return self._part(self._spent(heads))

    def _spent(self, heads: Mapping[Split, Head]) -> Mapping[int, int]:
        """Return the offsets of each source in a batch up to `heads`."""
        offsets = dict(self._unread)
        for split, head in heads.items():
            backlog = self._backlogs[split]
            offsets[backlog.source] -= max(0, backlog.end - max(backlog.position, head.offset))
        return offsets

    def _part(self, spent: Mapping[int, int]) -> float:
        return max(
            (spent.get(source, 0) / budget for source, budget in self._budgets.items() if budget is not None),
            default=0.0,
        )

    def _full(self, heads: Mapping[Split, Head], spent: Mapping[int, int]) -> int:
        """Return the lowest event time at which the first records in `heads` alone are more than
        what is left of a budget; MAX without one.
        """
        times: dict[int, list[int]] = {}
        for split, head in heads.items():
            times.setdefault(self._backlogs[split].source, []).append(head.event_time)
        found = watermark.MAX
        for source, unread in times.items():
            budget = self._budgets.get(source)
            left = len(unread) if budget is None else budget - spent[source]
            if 0 <= left < len(unread):
                found = min(found, sorted(unread)[left])
        return found

    def _limit_of(self, own: Found) -> Limit:
        if own.target < self.horizon:
            return Limit.BUDGET
        return Limit.HORIZON if self._cut(own.target) else Limit.END

    # -- look-ups --

    def _ask_heads(self) -> Mapping[Split, Head]:
        if not any(backlog.offsets for backlog in self._backlogs.values()):
            return {}
        self.look_ups += 1
        return self._log.heads()

    def _cut(self, event_time: int) -> Mapping[Split, Head]:
        """Return the first unread record above `event_time` of each split.

        The log is not asked about either end of time, nor twice about one gap.
        """
        if event_time < self.first:
            return self.heads
        if event_time == watermark.MAX:
            return {}
        for asked, (until, heads) in self._cuts.items():
            if asked <= event_time <= until:
                return heads
        self.look_ups += 1
        heads = self._log.first_after(event_time)
        self._cuts[event_time] = (max(event_time, _lowest(heads) - 1), heads)
        return heads

    def _end(self, split: Split, heads: Mapping[Split, Head]) -> int:
        backlog = self._backlogs[split]
        if split in self._blank:
            return backlog.position
        head = heads.get(split)
        return max(backlog.position, backlog.end if head is None else min(head.offset, backlog.end))

    def _unread_by_source(self) -> dict[int, int]:
        """How many offsets are unread in the splits that can be aligned."""
        unread = dict.fromkeys((backlog.source for backlog in self._backlogs.values()), 0)
        for split in self.heads:
            unread[self._backlogs[split].source] += self._backlogs[split].offsets
        return unread

    def _highest_times(self) -> Mapping[Split, int]:
        if self._highest is None:
            self.look_ups += 1
            self._highest = self._log.highest()
        return self._highest

    # -- horizons, watermarks and states --

    def _clock_horizon(self) -> int:
        """Return the query's own ceiling by the clock's part of every h(s), without a look-up."""
        clock = min(map(self._by_clock, self._backlogs), default=watermark.MAX)
        return watermark.add(clock, self._bounds.max_drift - 1)

    def _by_clock(self, split: Split) -> int:
        """Return the event time (ms) below which nothing is still to come, since the producer is no
        further behind the clock than its bound.
        """
        backlog = self._backlogs[split]
        return watermark.add(
            backlog.known_until, -(self._bounds.idle_timeout if backlog.lag_bound is None else backlog.lag_bound)
        )

    def _own_end_watermark(self, split: Split) -> int:
        """h(s) for the query itself, with more disorder where few records of a split were seen. The
        group goes by the disorder that was seen.
        """
        disorder = self._backlogs[split].disorder
        return self._end_watermark(split, self._bounds.disorder if disorder is None else disorder)

    def _end_watermark(self, split: Split, disorder: int) -> int:
        """h(s); the clock's part of it while the highest event times are not asked for."""
        by_clock = watermark.add(self._by_clock(split), -1)
        highest = None if self._highest is None else self._highest.get(split)
        return by_clock if highest is None else max(by_clock, highest - disorder - 1)

    def _watermark(self, split: Split) -> int:
        head = self.heads.get(split)
        return (
            self._end_watermark(split, self._bounds.disorder)
            if head is None or self._backlogs[split].far_behind
            else head.event_time - self._bounds.disorder - 1
        )

    def _split_plan(self, split: Split, end: int, heads: Mapping[Split, Head], limit: Limit) -> SplitPlan:
        backlog = self._backlogs[split]
        return SplitPlan(
            backlog.position, end, self._state(split, end, limit), self.watermarks[split], heads.get(split)
        )

    def _state(self, split: Split, end: int, limit: Limit) -> PlannedState:
        backlog = self._backlogs[split]
        if end < backlog.end:
            return PlannedState.PAUSED if limit in (Limit.GROUP, Limit.HORIZON, Limit.SLICE) else PlannedState.ACTIVE
        if end > backlog.position:
            return PlannedState.ACTIVE
        by_clock = self._by_clock(split)
        idle = (
            backlog.caught_up_since is not None
            and backlog.caught_up_since <= by_clock
            and self.watermarks[split] < by_clock
        )
        return PlannedState.IDLE if idle else PlannedState.CAUGHT_UP

    def _share(self, heads: Mapping[Split, Head]) -> dict[Split, int]:
        """Return the ends if one timestamp exceeds the budget: the splits share it in turn."""
        left = dict(self._budgets)
        ends = {}
        for split, backlog in self._backlogs.items():
            budget = left[backlog.source]
            wanted = self._end(split, heads) - backlog.position
            taken = wanted if budget is None else min(wanted, budget)
            ends[split] = backlog.position + taken
            left[backlog.source] = None if budget is None else budget - taken
        return ends

    def _fill(self, ends: dict[Split, int]) -> None:
        """Give the budgets' rest to splits that cannot be aligned, by their unread offsets."""
        for source, budget in self._budgets.items():
            blank = {
                split: self._backlogs[split].offsets
                for split in self._backlogs
                if self._of(source, split) and split in self._blank
            }
            used = sum(end - self._backlogs[split].position for split, end in ends.items() if self._of(source, split))
            wanted = sum(blank.values())
            left = wanted if budget is None else min(wanted, max(0, budget - used))
            for split, offsets in blank.items():
                # Rounded up: while a budget has an offset left, a split reads.
                taken = -(-offsets * left // wanted)
                ends[split] += taken
                left, wanted = left - taken, wanted - offsets

    def _of(self, source: int, split: Split) -> bool:
        return self._backlogs[split].source == source


def _lowest(heads: Mapping[Split, Head]) -> int:
    """Return the event time (ms) of the first of these records, MAX without any."""
    return min((head.event_time for head in heads.values()), default=watermark.MAX)
