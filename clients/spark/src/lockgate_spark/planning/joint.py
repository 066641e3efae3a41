"""One plan for all sources of a run: what is unread, how far it would get alone, what the group
allows, where it is cut.

A query reports where it stands at the entry of each plan, and hears the ceiling for it. What this
keeps: no plan is made above the ceiling that its readers were last told, but for what Kafka is
about to delete (`retention`).
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property

from lockgate import watermark
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Head, Limit, Plan, SplitState
from lockgate.plan.search import Curve
from lockgate.plan.windows import Windows
from lockgate.wire.events import SplitReport, WatermarkAlignmentEvent
from lockgate.wire.events import SplitState as ReportedState
from lockgate_spark.config import EPOCH, Alignment
from lockgate_spark.duration import milliseconds
from lockgate_spark.group.membership import Membership, Standing
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread
from lockgate_spark.planning.account import Account
from lockgate_spark.planning.kept_lags import KeptLags
from lockgate_spark.planning.out_of_order import careful, measured, most
from lockgate_spark.planning.pauses import Pauses
from lockgate_spark.planning.producers import Producers, too_late
from lockgate_spark.planning.retention import Retention
from lockgate_spark.planning.run import Run
from lockgate_spark.planning.slices import BatchSlice, Slices
from lockgate_spark.planning.start import TooShort, check_event_time, delay_of, own_bounds, warn_at_start

_FRESH_S = 1.0  # what was found is good for so long while no position and no end has moved
_SAMPLE_S = 1.0  # and so far apart, at least, are the looks at how far records are out of order


class JointPlanner:
    """Makes the plans of one run. `clock`: wall clock in seconds."""

    def __init__(
        self,
        alignment: Alignment,
        run: Run,
        membership: Membership | None,
        sources: Mapping[int, Source],
        clock: Callable[[], float],
    ) -> None:
        self.account = Account(alignment, sources)
        self._alignment, self._run, self._membership, self._sources = alignment, run, membership, sources
        self._clock = clock
        self._found: tuple[float, Unread, Draft[Key]] | None = None
        self._learned: Curve | None = None
        self._too_short = TooShort()
        self._disorder = 0  # as far as was seen; counts where none was promised
        self._sampled_at: float | None = None
        self._last: Plan[Key] | None = None  # that was carried out
        self._furthest = watermark.MIN  # the highest target of a plan that was carried out
        self._slices: Slices | None = None
        self._retention = Retention(alignment.retention_share)
        self._pauses = None if membership is None else Pauses(membership)

    @property
    def slices(self) -> Slices | None:
        """The event-time slices, where batches are cut so. Not before Spark has opened all
        sources.
        """
        if self._slices is None and self._alignment.slice is not None and not self._alignment.observes:
            logged = {i: offsets for i in self._sources if (offsets := self._run.logged_offsets(i)) is not None}
            size, zone = milliseconds("Alignment(slice)", self._alignment.slice), self._alignment.slice_zone
            windows = Windows(size) if zone == EPOCH else Windows(size, self._run.zone(zone))
            self._slices = Slices(windows, self._run.memory(), logged, self._sources)
        return self._slices

    @cached_property
    def _producers(self) -> Producers:
        """What the splits' producers have shown. Not before Spark has opened all sources."""
        return Producers(self._alignment, None if self._alignment.observes else KeptLags(self._run.memory("lags-")))

    @property
    def careful(self) -> bool:
        """Whether a split whose producer has shown nothing yet is waited for."""
        return self._producers.careful

    @property
    def unread(self) -> Unread:
        """What the last plan found."""
        assert self._found is not None
        return self._found[1]

    def plan(self, positions: Mapping[int, Offsets]) -> tuple[Plan[Key], float]:
        """The plan for what lies behind the positions, and the seconds that it took."""
        began, asked = time.perf_counter(), self._asked()
        unread, draft = self._draft(positions)
        bounds = self._bounds()
        ceiling = self._ceiling()
        if self._bounds() != bounds:  # only now the group has told its drift
            unread, draft = self._draft(positions, again=True)
            ceiling = self._ceiling()
        self._producers.held(draft, int(self._clock() * 1000), in_group=self._membership is not None)
        plan = self._cut(draft, ceiling)
        while not unread.confirm(
            plan.target, {key: made.next for key, made in plan.splits.items() if made.next is not None}
        ):
            assert self._found is not None
            draft = self._search(unread, self._found[0])
            plan = self._cut(draft, ceiling)
        plan = self._retention.let_go(plan, unread, int(self._clock() * 1000))
        if self._pauses is not None:
            self._pauses.made(plan)
        return replace(plan, look_ups=self._asked() - asked), time.perf_counter() - began

    def carry_out(self, plan: Plan[Key], seconds: float) -> dict[int, Offsets]:
        """Where each source's batch ends by the plan, which the logs, the slices and the account
        take note of.
        """
        assert self._found is not None
        ends: dict[int, Offsets] = {i: {} for i in self._sources}
        stops: dict[int, dict[str, Head]] = {i: {} for i in self._sources}
        for (i, split), made in plan.splits.items():
            ends[i][split] = made.end
            if made.next is not None and made.next.offset == made.end:
                stops[i][split] = made.next
        for i, source in self._sources.items():
            source.log.planned(plan.target, stops[i])
        view = self.account.planned(plan, *self._found[1:], self._producers, self._told, self._clock(), seconds)
        coordination = None if self._membership is None else self._membership.coordination
        view = replace(self._retention.show(view, plan), slice=self._slice(plan), coordinator=coordination)
        self.account.view = replace(view, disorder=self.disorder)
        self._last = plan
        if plan.offsets:
            self._furthest = max(self._furthest, plan.target)
        self._producers.keep(int(self._clock() * 1000))
        return ends

    @property
    def disorder(self) -> int:
        """How far out of order (ms) records of one split are taken to be: as was promised, else as
        was seen.
        """
        return self._bounds().disorder

    def standings(self) -> dict[int, Standing] | None:
        """What to report of the last draft; None before the first one."""
        return None if self._found is None else self._standings()

    def sum_up(self) -> None:
        """At the end of the run."""
        self.account.sum_up()
        self._retention.sum_up()
        if self._found is not None:
            self._producers.keep(int(self._clock() * 1000), at_once=True)

    # -- inside --

    def _standings(self) -> dict[int, Standing]:
        """Each source is a reader of its own, with its own watermark and the reach of the joint
        plan.
        """
        assert self._found is not None
        _, unread, draft = self._found
        reach = self._reach(draft)
        states = {} if self._last is None else {key: split.state for key, split in self._last.splits.items()}
        watermarks = draft.reported_watermarks()
        standings = {}
        for i, positions in unread.positions.items():
            splits = {
                split: SplitReport(
                    watermark=watermarks[i, split],
                    state=ReportedState(states.get((i, split), SplitState.ACTIVE).value),
                    position=position,
                    end=unread.ends[i][split],
                )
                for split, position in positions.items()
            }
            lowest = min(
                (split.watermark for split in splits.values()), default=watermark.MAX
            )  # without a split it holds nobody
            standings[i] = Standing(lowest, reach if reach is not None and reach > lowest else None, splits)
        return standings

    def _draft(self, positions: Mapping[int, Offsets], again: bool = False) -> tuple[Unread, Draft[Key]]:
        now = self._clock()
        unread = Unread.ask(self._sources, positions, int(now * 1000), self._alignment.credible(int(now * 1000)))
        if self._found is None:
            check_event_time(
                self._run, (source.event_time is not None for source in self._sources.values()), self._alignment
            )
            warn_at_start(self._run, unread, self._bounds())
            self.account.begin(self._run)
            self._producers.begin(self._bounds().max_drift)
        bounds = self._bounds()
        beyond = self._producers.look(
            unread, int(now * 1000), most(bounds.max_drift) if self._alignment.disorder is None else bounds.disorder
        )
        if beyond:
            self._count_late(unread, beyond)
        if self._found is not None:
            made_at, before, draft = self._found
            if not again and now - made_at < _FRESH_S and unread.same_as(before) and draft.limit is not Limit.HORIZON:
                return before, draft
        self._sample(unread, now)
        self._too_short.warn(self._delay, self._bounds(), self._in_payload)
        return unread, self._search(unread, now)

    def _search(self, unread: Unread, now: float) -> Draft[Key]:
        """How far the query gets alone; `now`: when it was asked what is unread."""
        bounds = self._bounds()
        budgets = {i: source.budget for i, source in self._sources.items()}
        apart_ms = 0 if self._membership is None else int(self._membership.update_interval_s * 1000)
        confirmed = False
        # a few times more for each source at most, whose look-ups have found what is no record
        while not confirmed:
            backlogs = unread.backlogs()
            if self._alignment.disorder is None:
                backlogs = careful(backlogs, self._sources, bounds)
            backlogs = self._producers.backlogs(unread, int(now * 1000), bounds, backlogs, apart_ms)
            draft = Draft.of(backlogs, unread, bounds, budgets, self._learned)
            confirmed = unread.confirm(draft.target, draft.stops)
        self._found, self._learned = (now, unread, draft), draft.curve
        self.account.surveyed(bounds)
        if self.slices is not None:
            self.slices.look(draft, unread, bounds.disorder, int(now * 1000))
        return draft

    def _cut(self, draft: Draft[Key], ceiling: int) -> Plan[Key]:
        return draft.plan(ceiling) if self.slices is None else self.slices.plan(draft, ceiling, self._told)

    def _count_late(self, unread: Unread, beyond: Mapping[Key, int]) -> None:
        """Records have come further behind the clock than their producers had shown."""
        if self._delay is not None and self._furthest > watermark.MIN:
            self._producers.tell_late(beyond, too_late(unread, beyond, watermark.add(self._furthest, -self._delay)))

    def _ceiling(self) -> int:
        if self._membership is None:
            return watermark.MAX
        return self._membership.exchange(self._standings())

    def _bounds(self) -> Bounds:
        drift = None if self._membership is None else self._membership.max_drift
        return own_bounds(self._alignment, self._delay, self._disorder, in_payload=self._in_payload, group_drift=drift)

    @cached_property
    def _delay(self) -> int | None:
        """Of the query's watermark; known once its plan is."""
        return delay_of(self._run)

    @property
    def _in_payload(self) -> bool:
        return any(source.event_time is not None for source in self._sources.values())

    def _sample(self, unread: Unread, now: float) -> None:
        """Looks now and then at a few of the records that are about to be read."""
        if self._sampled_at is None or not 0 <= now - self._sampled_at < _SAMPLE_S:
            self._sampled_at = now
            for i, source in self._sources.items():
                source.log.sample(unread.positions[i], unread.ends[i])
        self._disorder = measured(self._sources)

    def _reach(self, draft: Draft[Key]) -> int | None:
        if self._membership is None or not self._membership.joint:
            return None
        return draft.reach if self.slices is None else self.slices.reach(draft)

    def _slice(self, plan: Plan[Key]) -> BatchSlice | None:
        if self.slices is None or self._found is None:
            return None
        _, unread, draft = self._found
        return self.slices.take(plan, draft.first, unread, self._bounds().disorder)

    @property
    def _told(self) -> WatermarkAlignmentEvent | None:
        """What the coordinator told last."""
        return None if self._membership is None else self._membership.last

    def _asked(self) -> int:
        return sum(source.log.look_ups for source in self._sources.values())
