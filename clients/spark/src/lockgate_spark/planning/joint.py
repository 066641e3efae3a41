"""One plan for all sources of a run, in four steps: ask Kafka what is unread, draft how far the
query gets alone, exchange reports with the group, and cut the draft at the group's ceiling.

A query reports its watermarks at the beginning of each plan and gets the ceiling for it. The
guarantee: no plan goes above the ceiling that its readers were last told, except for records that
Kafka is about to delete (`retention`).
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from lockgate import watermark
from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Head, Limit, Plan
from lockgate.plan.search import Curve
from lockgate.plan.windows import Windows
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_http.duration import milliseconds
from lockgate_http.group.membership import Membership
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.config import EPOCH, Alignment, credible_at, retention_share_of
from lockgate_spark.logs.names import names
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread
from lockgate_spark.planning.disorder import careful, measured, most_learned
from lockgate_spark.planning.driver_clock import DriverClock
from lockgate_spark.planning.kept_lags import KeptLags
from lockgate_spark.planning.no_times import NoTimes
from lockgate_spark.planning.producers import Producers
from lockgate_spark.planning.query_facts import QueryFacts
from lockgate_spark.planning.reports import source_reports
from lockgate_spark.planning.retention import Retention
from lockgate_spark.planning.run import Run
from lockgate_spark.planning.slices import Slices
from lockgate_spark.planning.start_checks import TooShort, check_event_time, delay_of, own_bounds, warn_at_start
from lockgate_spark.planning.waiting import first_paused, wait_of
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.observer import Observer
from lockgate_spark.telemetry.view import PlanContext
from lockgate_spark.telemetry.waits import Wait, Waits

log = logging.getLogger("lockgate")

_FRESH_S = 1.0  # a draft is used again for so long, if no position and no log end has moved
_SAMPLE_S = 1.0  # the least time between two looks at how far records are out of order


@dataclass(frozen=True, slots=True)
class _Drafted:
    """A draft and its input. `asked_at`: wall clock in seconds when Kafka was asked what is
    unread.
    """

    asked_at: float
    unread: Unread
    draft: Draft[Key]


class JointPlanner:
    """Makes the plans of one run. `clock`: wall clock in seconds. `ticks`: a monotonic clock, in
    seconds.
    """

    def __init__(
        self,
        alignment: Alignment,
        run: Run,
        membership: Membership | None,
        sources: Mapping[int, Source],
        clock: Callable[[], float],
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self.observer = Observer(alignment, sources)
        self._alignment, self._run, self._membership, self._sources = alignment, run, membership, sources
        self._observes = alignment.mode == "observe"
        self.clock, self._ticks = DriverClock(clock, ticks), ticks
        self._drafted: _Drafted | None = None
        self._learned: Curve | None = None
        self._too_short = TooShort()
        self._no_times = NoTimes()
        self._disorder = 0  # the most that was seen; the bounds use it where the user promised none
        self._sampled_at: float | None = None
        self._last: Plan[Key] | None = None  # the last plan that was carried out
        self._furthest = watermark.MIN  # up to which event time records have been read
        self._slices: Slices | None = None
        self._retention = Retention(retention_share_of(alignment), tells=membership is not None)
        self.facts = QueryFacts(ticks)
        self.waits = Waits("the query" if membership is None else membership.source, ticks, clock)

    @property
    def slices(self) -> Slices | None:
        """The event-time slices, where batches are cut so. Spark must have opened all sources
        before.
        """
        if self._slices is None and self._alignment.slice is not None and not self._observes:
            logged = {i: offsets for i in self._sources if (offsets := self._run.logged_offsets(i)) is not None}
            size, zone = milliseconds("Alignment(slice)", self._alignment.slice), self._alignment.slice_zone
            windows = Windows(size) if zone == EPOCH else Windows(size, self._run.zone(zone))
            self._slices = Slices(windows, self._run.memory(), logged, self._sources)
        return self._slices

    @cached_property
    def _producers(self) -> Producers:
        """The lags of the splits' producers. Spark must have opened all sources before."""
        kept = None if self._observes else KeptLags(self._run.memory("lags-"), int(self.clock() * 1000))
        return Producers(self._alignment, self.clock, kept)

    @property
    def careful(self) -> bool:
        """Return whether a split whose producer has shown nothing yet is waited for."""
        return self._producers.careful

    @property
    def has_draft(self) -> bool:
        """Return whether Kafka has answered for the first draft."""
        return self._drafted is not None

    @property
    def unread(self) -> Unread:
        """The unread records that the last plan was made for."""
        assert self._drafted is not None
        return self._drafted.unread

    @property
    def disorder(self) -> int:
        """How far out of order (ms) the plans take the records of one split to be: as promised,
        else as seen.
        """
        return self._bounds().disorder

    @property
    def slowest(self) -> Key | None:
        """The split that bounds the last draft's horizon; None where none does."""
        return None if self._drafted is None else self._drafted.draft.slowest

    @property
    def max_drift(self) -> int:
        """What the plans keep to, in ms."""
        return self._bounds().max_drift

    def plan(self, positions: Mapping[int, Offsets]) -> tuple[Plan[Key], float]:
        """Return the plan for the records after the positions, and the seconds that it took."""
        began, asked = self._ticks(), self._look_ups()
        drafted = self._draft(positions)
        bounds = self._bounds()
        ceiling = self._exchange_with_group(drafted)
        if self._bounds() != bounds:  # the group's first answer has brought its drift
            drafted = self._draft(positions, again=True)
            ceiling = self._exchange_with_group(drafted)
        self._producers.held(drafted.draft, drafted.unread, int(self.clock() * 1000), self._membership is not None)
        plan, unread = self._cut(drafted.draft, ceiling), drafted.unread
        while not unread.confirm(
            plan.target, {key: made.next for key, made in plan.splits.items() if made.next is not None}
        ):
            drafted = self._search(unread, drafted.asked_at)
            plan = self._cut(drafted.draft, ceiling)
        now = int(self.clock() * 1000)
        plan = self._retention.read_early(plan, unread, now)
        self.waits.seen(self._wait(plan, now), plan.target if plan.offsets else None)
        return replace(plan, look_ups=self._look_ups() - asked), self._ticks() - began

    def carry_out(self, plan: Plan[Key], seconds: float) -> dict[int, Offsets]:
        """Where each source's batch ends by the plan. The logs, the slices and the observer take
        note of it. `seconds`: how long the plan took.
        """
        assert self._drafted is not None
        ends: dict[int, Offsets] = {i: {} for i in self._sources}
        stops: dict[int, dict[str, Head]] = {i: {} for i in self._sources}
        for (i, split), made in plan.splits.items():
            ends[i][split] = made.end
            if made.next is not None and made.next.offset == made.end:
                stops[i][split] = made.next
        for i, source in self._sources.items():
            source.log.remember_plan(stops[i])
        self._make_visible(plan, self._drafted, seconds)
        self._last = plan
        if plan.offsets:
            # The target lies above the last records where all of them are read.
            read_upto = min(plan.target, self._drafted.draft.reach, int(self.clock() * 1000))
            self._furthest = max(self._furthest, read_upto)
        return ends

    def reports(self) -> dict[int, SourceStatus] | None:
        """Return the report of each source by the last draft; None before the first one."""
        return None if self._drafted is None else self._reports(self._drafted)

    @property
    def left(self) -> str:
        """What a run under `availableNow` has left to the next one, in sentences; else empty."""
        plan = self._last
        if plan is None or not self._run.available_now or not plan.paused:
            return ""
        nothing = "This run has read nothing. " if self._furthest == watermark.MIN else ""
        first = first_paused(plan)
        if plan.limit is Limit.SLICE and self.slices is not None and first is not None:
            end = watermark.instant(self.slices.windows.end(first[1]))
            return f"{nothing}The window that ends at {end} is still open, and is left for the next run."
        if plan.limit is Limit.HORIZON and (holder := self._holder(plan)) is not None:
            why = self._producers.why(holder, int(self.clock() * 1000))
            upto = watermark.instant(plan.ceiling, "the first record")
            name = names([holder], plan.splits)[holder]
            return f"{nothing}Records above {upto} are left for the next run: {name} {why}."
        return nothing.strip()

    def sum_up(self) -> None:
        """Log the totals at the end of the run, and keep the producers' lags for the next one."""
        self.waits.close()
        if self._last is not None and self._last.limit in (Limit.SLICE, Limit.HORIZON) and self.left:
            log.warning("%s", self.left)
        self.observer.sum_up()
        self._retention.sum_up()
        if self._drafted is not None:
            self._producers.sum_up()
            self._producers.keep(self.max_drift, at_once=True)

    # -- the draft: how far the query gets alone --

    def _draft(self, positions: Mapping[int, Offsets], again: bool = False) -> _Drafted:
        """Return a draft for the positions: the last one if it is fresh, unless `again` asks for a
        new one.
        """
        now, last = self.clock(), self._drafted
        self._producers.follow(self._sources)
        unread = Unread.ask(self._sources, positions, int(now * 1000), credible_at(self._alignment, int(now * 1000)))
        if last is None:
            self._begin(unread)
        self._no_times.check(unread)
        self._look_at_producers(unread, int(now * 1000))
        if last is not None and not again and self._is_fresh(last, unread, now):
            return last
        self._sample(unread, now)
        self._too_short.warn(self._delay, self._bounds(), self._in_payload)
        return self._search(unread, now)

    @staticmethod
    def _is_fresh(last: _Drafted, unread: Unread, now: float) -> bool:
        """Return whether a new draft would be the same; a horizon moves with the clock."""
        recent = 0 <= now - last.asked_at < _FRESH_S
        return recent and unread.same_as(last.unread) and last.draft.limit is not Limit.HORIZON

    def _begin(self, unread: Unread) -> None:
        """Check the query and warn once, as soon as Spark's plan of it is known."""
        check_event_time(self._run, (s.event_time is not None for s in self._sources.values()), self._alignment)
        warn_at_start(self._run, unread, self._bounds())
        self.observer.begin(self._run)
        self._producers.begin(self._bounds().max_drift)

    def _look_at_producers(self, unread: Unread, now: int) -> None:
        """Measure the lags, and count records that came too late."""
        bounds = self._bounds()
        disorder = most_learned(bounds.max_drift) if self._alignment.max_out_of_orderness is None else bounds.disorder
        read_upto = watermark.MIN if self._delay is None else watermark.add(self._furthest, -self._delay)
        self._producers.look(unread, now, disorder, max(read_upto, self._stored_watermark))
        self._producers.keep(bounds.max_drift)

    def _search(self, unread: Unread, now: float) -> _Drafted:
        """Drafts how far the query gets alone. `now`: when Kafka was asked what is unread."""
        bounds = self._bounds()
        budgets = {i: source.budget for i, source in self._sources.items()}
        apart_ms = 0 if self._membership is None else int(self._membership.update_interval_s * 1000)
        confirmed = False
        # Each look-up that turns out to have found no record asks for another round: a few for each
        # source at most.
        while not confirmed:
            backlogs = unread.backlogs()
            if self._alignment.max_out_of_orderness is None:
                backlogs = careful(backlogs, self._sources, bounds)
            backlogs = self._producers.backlogs(unread, int(now * 1000), bounds, backlogs, apart_ms)
            draft = Draft(LogAnswers(backlogs, unread, bounds, budgets, self._learned))
            confirmed = unread.confirm(draft.target, draft.stops)
        self._drafted, self._learned = _Drafted(now, unread, draft), draft.curve
        if self._alignment.max_out_of_orderness is None:
            steps = self._bounds(0).max_drift, bounds.max_drift - bounds.disorder
            self.observer.drafted(allowed=most_learned(bounds.max_drift), learned=bounds.disorder, steps=steps)
        else:
            self.observer.drafted(allowed=bounds.disorder, learned=None)
        if self.slices is not None:
            self.slices.look(draft, unread, bounds.disorder, int(now * 1000))
        return self._drafted

    def _sample(self, unread: Unread, now: float) -> None:
        """Look now and then at a few of the records that are about to be read."""
        if self._sampled_at is None or not 0 <= now - self._sampled_at < _SAMPLE_S:
            self._sampled_at = now
            for i, source in self._sources.items():
                source.log.sample(unread.positions[i], unread.ends[i])
        self._disorder = measured(self._sources)

    # -- what the query waits for --

    def _wait(self, plan: Plan[Key], now: int) -> Wait | None:
        """Return what a plan waits for at `now` (wall clock, ms)."""
        if self._observes:
            return None
        key = self._holder(plan)
        holder = None if key is None else (names([key], plan.splits)[key], self._producers.why(key, now))
        return wait_of(plan, self._membership, self.slices, holder, self.careful)

    def _holder(self, plan: Plan[Key]) -> Key | None:
        """Return the split that bounds the horizon, or the next one to be read if it is stopped."""
        first = first_paused(plan)
        return first[0] if first is not None and first[0] in self._producers.stopped else self.slowest

    # -- the group: reports out, the ceiling in --

    def _exchange_with_group(self, drafted: _Drafted) -> int:
        """Send the reports to the group's coordinator, and return its ceiling if there is one."""
        return watermark.MAX if self._membership is None else self._membership.exchange(self._reports(drafted))

    def _reports(self, drafted: _Drafted) -> dict[int, SourceStatus]:
        states = {} if self._last is None else {key: split.state for key, split in self._last.splits.items()}
        statuses = source_reports(drafted.unread, drafted.draft, states, self._reach(drafted.draft))
        # nothing is paused in mode observe
        retained = {} if self._observes else self._retention.retained()
        return self.facts.added(statuses, self.observer.rows_saved, self._producers.shown, retained)

    def _reach(self, draft: Draft[Key]) -> int | None:
        if self._membership is None or not self._membership.joint:
            return None
        return draft.reach if self.slices is None else self.slices.reach(draft)

    @property
    def _last_event(self) -> WatermarkAlignmentEvent | None:
        """The last event from the coordinator."""
        return None if self._membership is None else self._membership.last

    # -- the plan: the draft, cut at the ceiling --

    def _cut(self, draft: Draft[Key], ceiling: int) -> Plan[Key]:
        return draft.plan(ceiling) if self.slices is None else self.slices.plan(draft, ceiling, self._last_event)

    def _make_visible(self, plan: Plan[Key], drafted: _Drafted, seconds: float) -> None:
        context = self.context(plan, seconds)
        view = self.observer.planned(plan, drafted.unread, drafted.draft, self._producers, context)
        self.observer.view = replace(self._retention.show(view, plan), slice=self._slice(plan, drafted))

    def context(self, plan: Plan[Key], seconds: float) -> PlanContext:
        """Return what a view shows besides this plan, which took that many seconds."""
        membership = self._membership
        return PlanContext(
            planned_at=self.clock(),
            seconds=seconds,
            group=self._last_event,
            coordinator=None if membership is None else membership.coordination,
            operator_pause=None if membership is None else membership.paused,
            slowest=self._holder(plan),
            lags=self._producers.shown,
            stopped=self._producers.stopped,
            far_behind=self._producers.far_behind,
            out_of_orderness=self.disorder,
        )

    def _slice(self, plan: Plan[Key], drafted: _Drafted) -> BatchSlice | None:
        if self.slices is None:
            return None
        return self.slices.take(plan, drafted.draft.first, drafted.unread, self._bounds().disorder)

    # -- the query's bounds --

    def _bounds(self, seen: int | None = None) -> Bounds:
        """By the disorder that was `seen` (ms), by default up to now."""
        drift = None if self._membership is None else self._membership.max_drift
        return own_bounds(
            self._alignment,
            self._delay,
            self._disorder if seen is None else seen,
            in_payload=self._in_payload,
            group_drift=drift,
        )

    @cached_property
    def _stored_watermark(self) -> int:
        """Spark's watermark (ms) in the checkpoint when this run began; MIN without one."""
        stored = None if self._observes else self._run.logged_watermark()
        return watermark.MIN if stored is None else stored

    @cached_property
    def _delay(self) -> int | None:
        """The delay of the query's watermark. Spark's plan of the query must be known before."""
        return delay_of(self._run)

    @property
    def _in_payload(self) -> bool:
        return any(source.event_time is not None for source in self._sources.values())

    def _look_ups(self) -> int:
        return sum(source.log.look_ups for source in self._sources.values())
