"""The planner, which makes one plan for all sources of a run, step by step.

A query in a group reports its watermarks before each plan. No plan exceeds the ceiling that the
query's readers received last, except for records that Kafka is about to delete (`retention`).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.clock import AHEAD_MS
from lockgate.plan.draft import Draft
from lockgate.plan.model import Head, Limit, PlannedState, SplitPlan
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_http.history import record
from lockgate_spark.logs.names import names
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.bounds import QueryBounds
from lockgate_spark.planning.driver_clock import DriverClock
from lockgate_spark.planning.look import Begin, LookAhead, Looker
from lockgate_spark.planning.query_facts import QueryFacts
from lockgate_spark.planning.retention import RETENTION_MARGIN, Retention, read_early
from lockgate_spark.planning.run import Query
from lockgate_spark.planning.slices import window_aligned
from lockgate_spark.planning.steps import Look, PlanBasis, PlanCeiling, Planned, answered, cut, draft, put_off
from lockgate_spark.planning.waiting import blocker, left_over, see_wait
from lockgate_spark.telemetry.observer import Observer
from lockgate_spark.telemetry.view import BatchAlignment, PartitionAlignment
from lockgate_spark.telemetry.waits import Waits

log = logging.getLogger("lockgate")

FILTERS = (window_aligned, read_early, put_off)
"""The filters of a plan that was cut at the ceiling, in order. The last one may postpone the whole
plan.
"""

_NONE: Mapping[Key, int] = {}


class Planner:
    """Makes the plans of one run. The arguments are those of `AlignedRun`."""

    def __init__(
        self, query: Query, clock: Callable[[], float], ticks: Callable[[], float], begin: Begin | None = None
    ) -> None:
        self.query, self.ticks, self.membership = query, ticks, query.membership
        self.clock, self.observer = DriverClock(clock, ticks), Observer(query.alignment, query.sources)
        self.bounds = QueryBounds(query)
        self.looker = Looker(query, self.bounds, self.clock, self.observer)
        self.ahead = LookAhead(self.looker, query.run, self.clock, None if query.observes else begin)
        # With slices, a batch must not contain rows of a later window.
        margin = RETENTION_MARGIN if query.alignment.slice is None else 0.0
        self._retention = Retention(margin, tells=self.membership is not None)
        self.facts = QueryFacts(ticks)
        self.waits = Waits("the query" if self.membership is None else self.membership.source, ticks)
        self._look: Look | None = None  # that of the last plan
        self._asked = 0  # the number of requests to Kafka up to the last plan
        self._made: Planned | None = None  # the last plan
        self._carried_out: Planned | None = None  # the last plan that was carried out
        self._batch_at: float | None = None  # when the last batch was planned (monotonic clock, s)
        self._read_upto = watermark.MIN  # up to which event time (ms) records have been read

    def plan(self, positions: Mapping[int, Offsets]) -> Planned:
        """Report to the group, and return the plan for the records from the offsets `positions` on.
        The plan is not carried out yet. Raises the errors of `Looker.look`, `LookAhead.take` and
        `Membership.exchange`.
        """
        began, query = self.ticks(), self.query
        look = self.ahead.take(positions) or self.looker.look(positions, self._read_upto)
        drafted = draft(look)
        ceiling = self.ceiling(look, drafted)
        if self.bounds.now() != look.bounds:  # the group's first answer has brought its drift
            look = self.looker.look(positions, self._read_upto, again=True)
            drafted = draft(look)
            ceiling = self.ceiling(look, drafted)
        first_cut = plan = answered(partial(cut, drafted, ceiling), look)
        now, slices = self._now(), self.looker.slices
        basis = PlanBasis(
            look=look,
            draft=drafted,
            ceiling=ceiling,
            windows=None if slices is None else slices.windows,
            whole_from=watermark.MIN if slices is None else slices.whole_from(drafted.first),
            safe_from=self._retention.look(plan, look.unread, now),
            least={} if query.observes or query.run.available_now else {i: s.least for i, s in query.sources.items()},
            since_batch_ms=None if self._batch_at is None else (self.ticks() - self._batch_at) * 1000,
        )
        for keep in FILTERS:
            before, plan = plan, answered(partial(keep, plan, basis), look)
        asked, self._asked = self._asked, sum(source.log.requests.made for source in query.sources.values())
        plan, is_put_off = replace(plan, look_ups=self._asked - asked), plan.offsets == 0 < before.offsets
        planned = Planned(plan, basis, first_cut, is_put_off, self.ticks() - began)
        self._made = planned
        if not query.observes:  # nothing is paused there
            see_wait(planned, self.waits, self.membership, self.looker.producers, now)
        return planned

    def ceiling(self, look: Look, drafted: Draft[Key]) -> PlanCeiling:
        """Report the sources to the group, and return the event time (ms) up to which the group
        allows reading; MAX without a group. Raises the errors of `Membership.exchange`.
        """
        self._look = look
        if self.membership is None:
            return PlanCeiling()
        reports = answered(lambda: self._reports(look, drafted), look)
        return PlanCeiling(self.membership.exchange(reports), self.membership.last)

    def carry_out(self, planned: Planned) -> dict[int, Offsets]:
        """Carry out a plan: log what is read early, store where the batch ends in the logs and in
        the slices, and pass the plan to the observer. Return the offsets at which the batch ends.
        """
        plan, look, drafted, slices = planned.plan, planned.basis.look, planned.basis.draft, self.looker.slices
        ends: dict[int, Offsets] = {i: {} for i in self.query.sources}
        stops: dict[int, dict[str, Head]] = {i: {} for i in self.query.sources}
        for (i, split), made in plan.splits.items():
            ends[i][split] = made.end
            if made.next is not None and made.next.offset == made.end:
                stops[i][split] = made.next
        for i, source in self.query.sources.items():
            source.log.remember_plan(stops[i])
        now = self.clock()
        early = self._retention.note(planned, int(now * 1000))
        taken = None if slices is None else slices.take(plan, drafted.first, look.unread, look.bounds.disorder)
        view_of = partial(self.view_of, planned, now, self.observer.view, read_early=early, slice=taken)
        self.observer.planned(plan, look.unread, drafted, view_of)
        self._carried_out = planned
        if plan.offsets:
            self._record(planned)
            # The target lies above the last records where all of them are read.
            reach = answered(lambda: drafted.reach, look)
            self._read_upto = max(self._read_upto, min(plan.target, reach, self._now()))
            self._batch_at = self.ticks()
        return ends

    def reports(self) -> dict[int, SourceStatus] | None:
        """Return the report of each source by the look of the last plan. Return None before the
        first plan, and during a look ahead, which uses the looker.
        """
        look = None if self.ahead.under_way else self._look
        return None if look is None else answered(lambda: self._reports(look, draft(look)), look)

    def look_ahead(self, positions: Mapping[int, Offsets]) -> None:
        """Begin the look for the next plan, at the ends that Spark has received, `positions`."""
        if self._carried_out is not None:
            self.ahead.begin(self._carried_out, positions, self._read_upto)

    def view_of(
        self,
        planned: Planned,
        now: float,
        before: BatchAlignment | None,
        left_out: Mapping[Key, int] = _NONE,
        read_early: Mapping[Key, int] = _NONE,
        **fields: Any,
    ) -> BatchAlignment:
        """Return the view of a plan at `now` (wall clock in s), after that of the previous plan,
        `before`. `left_out`, `read_early` (without partitions that have none) and `fields` are as
        in `PartitionAlignment` and `BatchAlignment`.
        """
        plan, producers, membership = planned.plan, self.looker.producers, self.membership
        paused, made = plan.paused, plan.splits
        disorder, stopped, far_behind = self.observer.disorder(), producers.ahead.stopped, producers.far_behind
        known = () if before is None else before.partitions
        since = {(p.source, p.partition): p.paused_since for p in known if p.paused_since is not None}
        called = names(made, made)
        early = {key: called[key] for key in read_early}
        resumed = (key for key in since if key in made and made[key].end > made[key].position)
        slowest = blocker(planned, producers) if plan.limit is Limit.HORIZON else None
        event = None if membership is None else membership.last
        view = BatchAlignment(
            target=plan.target,
            read_limit=plan.ceiling,
            limited_by=plan.limit,
            partitions=tuple(
                PartitionAlignment(
                    source=key[0],
                    partition=key[1],
                    position=s.position,
                    end=s.end,
                    state=s.state,
                    watermark=s.watermark,
                    next_event_time=s.next.event_time if s.next else None,
                    left_out=left_out.get(key, 0),
                    lag=producers.shown.get(key),
                    paused_since=since.get(key, now) if key in paused else None,
                    stopped_ms=_stopped_ms(s, stopped.get(key, 0), now, before) if key in paused else 0,
                    left_out_so_far=self.observer.left_out[key],
                    read_early=read_early.get(key, 0),
                    out_of_orderness=disorder.get(key, 0),
                    far_behind=key in far_behind,
                )
                for key, s in made.items()
            ),
            paused=tuple(sorted(called[key] for key in paused)),
            resumed=tuple(sorted(called[key] for key in resumed if key not in early)),
            read_early=tuple(sorted(early.values())),
            group_watermark=None if event is None else event.group_watermark,
            blocked_by=() if event is None else event.blocked_by,
            bounded_by=None if slowest is None else called[slowest],
            planned_at=now,
            seconds=planned.seconds,
            look_ups=plan.look_ups,
            coordinator=None if membership is None else membership.coordination,
            operator_pause=None if membership is None else membership.paused,
            rows_too_late=producers.too_late,
            out_of_orderness=self.bounds.now().disorder,
            **fields,
        )
        if not view.behind_ms or slowest is None:
            return view
        why = producers.why(slowest, int(now * 1000))
        return replace(view, behind=f"{spoken(view.behind_ms)} behind the clock: {view.bounded_by} {why}")

    @property
    def left(self) -> str:
        """A message about the records that a run under `availableNow` leaves, if any."""
        last, has_read = self._carried_out, self._read_upto != watermark.MIN
        if last is None or not self.query.run.available_now:
            return ""
        return left_over(last, self.looker.producers, has_read=has_read, now=self._now())

    def sum_up(self) -> None:
        """Log the totals at the end of the run, and keep the producers' lags for the next run."""
        self.ahead.end()
        self.waits.close()
        last = self._carried_out
        if last is not None and last.plan.limit in (Limit.SLICE, Limit.HORIZON) and self.left:
            log.warning("%s", self.left)
        self.observer.sum_up()
        self._retention.sum_up()
        self.looker.sum_up()

    # -- inside --

    def _reports(self, look: Look, drafted: Draft[Key]) -> dict[int, SourceStatus]:
        reach, slices = None, self.looker.slices
        if self.membership is not None and self.membership.joint:
            reach = drafted.reach if slices is None else slices.reach(drafted)
        planned = {} if self._carried_out is None else self._carried_out.plan.splits
        watermarks, statuses = drafted.reported_watermarks(), {}
        for i, positions in look.unread.positions.items():
            splits = {
                split: SplitReport(
                    watermark=watermarks[i, split],
                    state=SplitState((planned[i, split].state if (i, split) in planned else PlannedState.ACTIVE).value),
                    position=position,
                    end=look.unread.ends[i][split],
                )
                for split, position in positions.items()
            }
            # a source without splits holds no other reader
            lowest = min((split.watermark for split in splits.values()), default=watermark.MAX)
            statuses[i] = SourceStatus(lowest, reach if reach is not None and reach > lowest else None, splits)
        made = self._made
        retained = {} if made is None else self._retention.retained(made.cut, made.basis.look.unread)
        return self.facts.added(statuses, self.observer.rows_saved, self.looker.producers.shown, retained)

    def _record(self, planned: Planned) -> None:
        if self.membership is None:
            return
        plan, source = planned.plan, self.membership.source
        record(
            "plan",
            self.membership.group,
            lambda: {
                "source": source,
                "run": id(self),
                "target": plan.target,
                "read_limit": planned.basis.ceiling.at,
                "splits": {f"{i}/{split}": [made.position, made.end] for (i, split), made in plan.splits.items()},
            },
        )

    def _now(self) -> int:
        return int(self.clock() * 1000)


def _stopped_ms(made: SplitPlan, known: int, now: float, before: BatchAlignment | None) -> int:
    """Return how long (ms) a paused partition has been stopped at a record stamped ahead of the
    clock: `known` if it was stopped before this plan. If it stops with this plan, return the time
    since the previous plan, because the record may have arrived right after the previous plan.
    """
    if known or before is None or made.next is None or made.next.event_time <= int(now * 1000) + AHEAD_MS:
        return known
    return max(0, int(now * 1000) - int(before.planned_at * 1000))
