"""The planner, which makes one plan for all sources of a run, step by step.

A query in a group reports its watermarks before each plan. No plan exceeds the ceiling that the
query's readers received last, except for records that Kafka is about to delete (`retention`).
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from lockgate import watermark
from lockgate.duration import spoken
from lockgate.plan.clock import AHEAD_MS
from lockgate.plan.draft import Draft
from lockgate.plan.model import Head, Limit, PlannedState, SplitPlan
from lockgate.wire.events import ReaderFacts, SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_http.history import record
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, names
from lockgate_spark.planning.bounds import QueryBounds
from lockgate_spark.planning.driver_clock import DriverClock
from lockgate_spark.planning.look import Begin, LookAhead, Looker
from lockgate_spark.planning.retention import RETENTION_MARGIN, Retention, read_early
from lockgate_spark.planning.steps import Look, Planned, Query, answered, put_off
from lockgate_spark.telemetry.observer import Observer
from lockgate_spark.telemetry.view import BatchAlignment, BatchSlice, PartitionAlignment
from lockgate_spark.telemetry.waits import Wait, Waits, for_member, for_split, for_window

log = logging.getLogger("lockgate")

_NONE: Mapping[Key, int] = {}
_WINDOW_S = 60.0
_APART_S = 1.0  # between two points, so that there are some sixty of them


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
        self.late: dict[int, int] = {}  # by source, the number of late rows in the run so far
        self._paces: dict[int, WatermarkPace] = {}  # of the reported watermarks, by source
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
        drafted = Draft(look.answers)
        ceiling = self.ceiling(look, drafted)
        if self.bounds.now() != look.bounds:  # the group's first answer has brought its drift
            look = self.looker.look(positions, self._read_upto, again=True)
            drafted = Draft(look.answers)
            ceiling = self.ceiling(look, drafted)
        event = None if self.membership is None else self.membership.last
        plan = first_cut = answered(partial(drafted.plan, ceiling), look)
        now, slices = self._now(), self.looker.slices
        safe_from = self._retention.look(plan, look.unread, now)
        if slices is not None:
            group_watermark = watermark.MIN if event is None else event.group_watermark
            plan = answered(partial(slices.window_aligned, drafted, ceiling, group_watermark), look)
        plan = full = read_early(plan, look, safe_from)
        if not query.observes and not query.run.available_now:
            since_ms = None if self._batch_at is None else (self.ticks() - self._batch_at) * 1000
            plan = put_off(full, {i: source.least for i, source in query.sources.items()}, since_ms)
        reads_on, asked = full.offsets > 0, self._asked
        self._asked = sum(source.log.requests.made for source in query.sources.values())
        plan = replace(plan, look_ups=self._asked - asked)
        planned = Planned(plan, look, drafted, ceiling, first_cut, plan.offsets < full.offsets, self.ticks() - began)
        self._made = planned
        if not query.observes:  # nothing is paused there
            wait = None if reads_on else self._wait_after(planned, now)
            self.waits.seen(wait, plan.target if reads_on else None)
        return planned

    def ceiling(self, look: Look, drafted: Draft[Key]) -> int:
        """Report the sources to the group, and return the event time (ms) up to which the group
        allows reading; MAX without a group. Raises the errors of `Membership.exchange`.
        """
        self._look = look
        if self.membership is None:
            return watermark.MAX
        return self.membership.exchange(answered(partial(self._reports, look, drafted), look))

    def carry_out(self, planned: Planned) -> dict[int, Offsets]:
        """Carry out a plan: log what is read early, store where the batch ends in the logs and in
        the slices, and pass the plan to the observer. Return the offsets at which the batch ends.
        """
        plan, look, drafted, slices = planned.plan, planned.look, planned.draft, self.looker.slices
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
        left_out = self.observer.planned(plan, look.unread, drafted)
        self.observer.show(self.view_of(planned, now, self.observer.view, left_out, early, taken), plan.offsets)
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
        return None if look is None else answered(partial(self._reports, look, Draft(look.answers)), look)

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
        taken: BatchSlice | None = None,
    ) -> BatchAlignment:
        """Return the view of a plan at `now` (wall clock in s), after that of the previous plan,
        `before`. `left_out`, `read_early` (without partitions that have none) and `taken` are as in
        `PartitionAlignment` and `BatchAlignment.slice`.
        """
        plan, producers, membership = planned.plan, self.looker.producers, self.membership
        paused, made = plan.paused, plan.splits
        disorder, stopped, far_behind = self.observer.disorder(), producers.ahead.stopped, producers.far_behind
        known = () if before is None else before.partitions
        since = {(p.source, p.partition): p.paused_since for p in known if p.paused_since is not None}
        called = names(made, made)
        resumed = (key for key in since if key in made and made[key].end > made[key].position)
        slowest = self._blocker(planned) if plan.limit is Limit.HORIZON else None
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
            resumed=tuple(sorted(called[key] for key in resumed if key not in read_early)),
            read_early=tuple(sorted(called[key] for key in read_early)),
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
            applied=not self.query.observes,
            rows_saved=self.observer.rows_saved,
            slice=taken,
        )
        if not view.behind_ms or slowest is None:
            return view
        why = producers.why(slowest, int(now * 1000))
        return replace(view, behind=f"{spoken(view.behind_ms)} behind the clock: {view.bounded_by} {why}")

    @property
    def left(self) -> str:
        """A message about the records that a run under `availableNow` leaves, if any."""
        last = self._carried_out
        if last is None or not last.plan.paused or not self.query.run.available_now:
            return ""
        wait = self._wait_after(last, self._now())
        nothing = "This run has read nothing. " if self._read_upto == watermark.MIN else ""
        return f"{nothing}{'' if wait is None else wait.leaves}".strip()

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

    def _blocker(self, planned: Planned) -> Key | None:
        """Return the split for which the others wait, if any: the paused one with the oldest next
        record if a record ahead of the clock has stopped it, else the one with the lowest
        watermark.
        """
        first, stopped = planned.first_paused, self.looker.producers.ahead.stopped
        return first[0] if first is not None and first[0] in stopped else planned.draft.slowest

    def _wait_after(self, planned: Planned, now: int) -> Wait | None:
        """Return what keeps the query from reading more than the plan `planned`, if it waits for
        something. `now` is the wall-clock time in ms.
        """
        plan, first, slices, producers = planned.plan, planned.first_paused, self.looker.slices, self.looker.producers
        if plan.limit is Limit.GROUP and self.membership is not None and plan.paused:
            return for_member(self.membership, None if first is None else first[1])
        if plan.limit is Limit.SLICE and slices is not None and first is not None:
            return for_window(slices.windows.end(first[1]))
        if plan.limit is Limit.HORIZON and plan.paused and (key := self._blocker(planned)) is not None:
            name, why = names([key], plan.splits)[key], producers.why(key, now)
            return for_split(name, why, plan.ceiling, brief=producers.careful)
        return None

    def _reports(self, look: Look, drafted: Draft[Key]) -> dict[int, SourceStatus]:
        reach, slices = None, self.looker.slices
        if self.membership is not None and self.membership.joint:
            reach = drafted.reach if slices is None else slices.reach(drafted)
        planned = {} if self._carried_out is None else self._carried_out.plan.splits
        made, lags, now = self._made, self.looker.producers.shown, self.ticks()
        retained = {} if made is None else self._retention.retained(made.cut, made.look.unread)
        watermarks, statuses = drafted.reported_watermarks(), dict[int, SourceStatus]()
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
            facts = ReaderFacts(
                late_rows=self.late.get(i),
                rows_saved=None if statuses else self.observer.rows_saved,  # of the whole query
                retained_until=retained[i].until if i in retained else None,
                retention_split=retained[i].split if i in retained else None,
                producer_lag_ms=max((lags[i, split] for split in splits if (i, split) in lags), default=None),
                event_time_rate=self._paces.setdefault(i, WatermarkPace()).seen(lowest, now),
            )
            above = reach if reach is not None and reach > lowest else None
            statuses[i] = SourceStatus(lowest, above, splits, facts=facts)
        return statuses

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
                "read_limit": planned.ceiling,
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


@dataclass(slots=True)
class WatermarkPace:
    """Measures how fast one watermark has risen over the last minute, so that the figure falls to 0
    within a minute while a query waits. If batches are longer, it is that of the last batch.
    """

    _points: deque[tuple[float, int]] = field(default_factory=deque)  # monotonic seconds, watermark

    def seen(self, at: int, now: float) -> int | None:
        """Add the watermark `at` (ms) at the time `now` of a monotonic clock (s), and return the
        rise in ms per second; None if it is MIN or MAX, or less than a second was measured.
        """
        points = self._points
        if at in (watermark.MIN, watermark.MAX) or (points and at < points[-1][1]):
            points.clear()
        if at in (watermark.MIN, watermark.MAX):
            return None
        if not points or now - points[-1][0] >= _APART_S:
            points.append((now, at))
        while len(points) > 2 and now - points[1][0] >= _WINDOW_S:
            points.popleft()
        began, first = points[0]
        return None if now - began < _APART_S else round((at - first) / (now - began))
