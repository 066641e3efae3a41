"""The draft of a plan: how far a query would read without its group. `Draft.plan` then applies the
group's ceiling. The rule is in `lockgate.plan.model`.
"""

import copy
from collections.abc import Mapping
from typing import Generic

from lockgate import watermark
from lockgate.plan.answers import LogAnswers
from lockgate.plan.model import Head, Limit, Plan, PlannedState, Split, SplitPlan
from lockgate.plan.search import Found


class Draft(Generic[Split]):
    """A plan of one query's next batch, made from `answers` without the group's ceiling.

    Attributes:
        answers: The answers from the logs.
        horizon: The event time (ms) that the query must not exceed even without its group.
        limit: The reason why the query alone would read no further.
        heads: The first unread record of each split.
        first: The lowest event time (ms) in `heads`, or MAX if there is none.
        watermarks: The watermark (ms) of each split before the batch.
    """

    def __init__(self, answers: LogAnswers[Split]) -> None:
        self.answers, self.horizon, self.limit = answers, answers.horizon, answers.limit
        self.heads, self.first = answers.heads, answers.first
        self._backlogs, self._bounds, self._budgets = answers.backlogs, answers.bounds, answers.budgets
        self._own = answers.found
        self.watermarks = {split: self._watermark(split) for split in self._backlogs}

    @property
    def target(self) -> int:
        """The event time (ms) up to which the next batch would read without the group's ceiling."""
        return self._own.target

    @property
    def closed(self) -> int:
        """The event time (ms) up to which no more records can come, judged by the clock alone."""
        return watermark.add(self.answers.clock_horizon(), -self._bounds.max_drift)

    @property
    def slowest(self) -> Split | None:
        """The split that limits `horizon`, or None if there are no splits. If all splits were read
        to their ends, this split would have the lowest watermark.
        """
        return min(self._backlogs, key=self.answers.own_end_watermark, default=None)

    @property
    def reach(self) -> int:
        """The proposed target (ms) for the report to the group. It is `target`, or the highest
        event time in the logs if that is lower. Finding it may take a look-up.
        """
        if self.limit is Limit.BUDGET:
            return self._own.target
        return min(self._own.target, max(self.answers.ask_highest().values(), default=watermark.MIN))

    def reported_watermarks(self) -> dict[Split, int]:
        """Return each split's watermark (ms) for the report to the group.

        If a split is read to its end, look up the highest event times in the logs first. By the
        clock alone, its watermark would be a whole `idle_timeout` or learned lag behind, and
        readers with a backlog would wait for that long.
        """
        if any(split not in self.heads for split in self._backlogs):
            self.answers.ask_highest()
        return {split: self._watermark(split) for split in self._backlogs}

    def extended(self, event_time: int) -> "Draft[Split]":
        """Return this draft, with its target raised to `event_time` (ms) if that fits the budgets.

        A higher target may fit, because the search stops once a batch uses 99 % of a budget.
        `event_time` must not exceed `horizon`.
        """
        own = self._own
        if own.target >= event_time or own.overfull is not None or self.answers.use(self.answers.cut(event_time)) > 1:
            return self
        extended = copy.copy(self)
        extended._own = Found(event_time, None)
        return extended

    def plan(self, ceiling: int = watermark.MAX, limit_there: Limit = Limit.GROUP) -> Plan[Split]:
        """Return the plan whose target does not exceed `ceiling` (ms).

        If the ceiling is below the draft's target, the plan's limit is `limit_there`. Raises
        `Unasked` if closed answers lack a look-up that the plan needs.
        """
        target, overfull, limit = self._own.target, self._own.overfull, self.limit
        if ceiling < (target if overfull is None else overfull):
            target, overfull, limit = min(ceiling, target), None, limit_there
        heads = self.answers.stops(target)
        ends = {split: self._end(split, heads) for split in self._backlogs}
        if overfull is not None and not any(
            ends[split] > backlog.position for split, backlog in self._backlogs.items()
        ):
            ends = self._share(self.answers.cut(overfull))
        if ceiling > watermark.MIN:
            self._fill(ends)
        return Plan(
            target=target,
            ceiling=min(ceiling, self.horizon),
            limit=limit,
            splits={split: self._split_plan(split, end, heads, limit) for split, end in ends.items()},
            look_ups=self.answers.look_ups,
        )

    # -- ends, watermarks and states --

    def _end(self, split: Split, heads: Mapping[Split, Head]) -> int:
        backlog = self._backlogs[split]
        if split in self.answers.blank:
            return backlog.position
        head = heads.get(split)
        return max(backlog.position, backlog.end if head is None else min(head.offset, backlog.end))

    def _watermark(self, split: Split) -> int:
        head = self.heads.get(split)
        return (
            self.answers.end_watermark(split, self._bounds.disorder)
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
        by_clock = self.answers.by_clock(split)
        idle = (
            backlog.caught_up_since is not None
            and backlog.caught_up_since <= by_clock
            and self.watermarks[split] < by_clock
        )
        return PlannedState.IDLE if idle else PlannedState.CAUGHT_UP

    def _share(self, heads: Mapping[Split, Head]) -> dict[Split, int]:
        """Return the ends of a batch that reads only some records of one timestamp, because all of
        them would exceed the budget. `heads` are the first records above that timestamp.
        """
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
        """Add the rest of each budget to the `ends` of `blank` splits, by their unread offsets."""
        for source, budget in self._budgets.items():
            of_source = {split: each for split, each in self._backlogs.items() if each.source == source}
            blank = {split: each.offsets for split, each in of_source.items() if split in self.answers.blank}
            wanted = sum(blank.values())
            if not wanted:
                continue
            used = sum(ends[split] - each.position for split, each in of_source.items())
            left = wanted if budget is None else min(wanted, max(0, budget - used))
            for split, offsets in blank.items():
                # Rounded up: while a budget has an offset left, a split reads.
                taken = -(-offsets * left // wanted)
                ends[split] += taken
                left, wanted = left - taken, wanted - offsets
