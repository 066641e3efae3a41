"""The planning of one query run: all its aligned sources together, as Spark asks for them one by one.

Spark asks each source in turn where the next batch ends. The first in Spark's order leads: when it is asked, the plan for all is
made, and the others are answered from it; so whatever a batch holds was planned together. What is done is the `start` that Spark
passes (a batch is committed to its sources only when the next one is built); of the others it is what they were last answered,
and after a restart the end of the last batch in the checkpoint's offset log.

While nothing may be read a plan answers `start`, and Spark asks again; under `Trigger.AvailableNow` Spark would take that for the end
of the data, so there the plan waits as long as the query runs.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from lockgate import watermark
from lockgate.events import SplitReport, WatermarkAlignmentEvent
from lockgate.events import SplitState as ReportedState
from lockgate.planner import Bounds, Limit, Plan, SplitState
from lockgate.search import Curve
from lockgate.survey import Survey
from lockgate_spark.config import Alignment
from lockgate_spark.duration import milliseconds
from lockgate_spark.errors import HeldTooLong
from lockgate_spark.group.membership import Membership, Standing
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread
from lockgate_spark.planning.lag import Lags
from lockgate_spark.planning.left_out import LeftOut
from lockgate_spark.planning.metrics import ChangeLog, source_metrics
from lockgate_spark.planning.observe import Observed
from lockgate_spark.planning.out_of_order import OutOfOrder
from lockgate_spark.planning.patience import Least, Patience
from lockgate_spark.planning.pauses import Pauses, held_by
from lockgate_spark.planning.rest import LONGEST_S, Rest
from lockgate_spark.planning.retention import Retention
from lockgate_spark.planning.slices import BatchSlice, Memory, Slices
from lockgate_spark.planning.start import Checkpointed, check_event_time, delay_of, own_bounds, warn_at_start
from lockgate_spark.planning.view import BatchAlignment, describe

log = logging.getLogger("lockgate")

STEP_MS = 100  # a waiting plan looks this often whether the query still runs
_FRESH_S = 1.0  # what was found is good for so long while no position and no end has moved
_STALLED_S = 2.0  # a horizon that stands still for so long will not rise in this run


class Run(Checkpointed, Protocol):
    """The run of a query, as Spark knows it."""

    @property
    def available_now(self) -> bool:
        """Whether the run ends when it has read what was there at its start."""

    @property
    def interval_s(self) -> float:
        """How far apart its triggers are; 0 where one follows the other."""

    def is_active(self) -> bool:
        """False once the query was told to stop."""

    def failed(self) -> bool:
        """Whether the run has ended with an error."""

    def logged_offsets(self, source: int) -> Offsets | None:
        """Where the checkpoint's last batch ends for this source; None without one."""

    def memory(self) -> Memory:
        """What is kept beside the checkpoint."""


class Session:
    """One run of one query. `clock`: wall clock in seconds."""

    def __init__(
        self, alignment: Alignment, run: Run, membership: Membership | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.alignment, self.run, self.membership = alignment, run, membership
        self.sources: dict[int, Source] = {}
        self.view: BatchAlignment | None = None
        self._retention = Retention(alignment.retention_share)
        self._clock = clock
        self._leader: int | None = None
        self._served: dict[int, Offsets] = {}  # what each source was last answered
        self._answers: dict[int, Offsets] = {}  # of this round, not yet asked for
        self._found: tuple[float, Unread, Survey[Key]] | None = None
        self._plan: Plan[Key] | None = None
        self._learned: Curve | None = None
        self._patience = Patience()
        self._pauses = None if membership is None else Pauses(membership)
        self._slices: Slices | None = None
        self._left_out, self._observed, self._out_of_order = LeftOut(), Observed(), OutOfOrder()
        self._lags, self._changes = Lags(), ChangeLog()
        self._own_bounds: Bounds | None = None  # known once the query's plan is
        self._rest = Rest()
        self._open = 0
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        return self._closed.is_set()

    @property
    def slices(self) -> Slices | None:
        """The event-time slices, where batches are cut so. Not before Spark has opened all sources."""
        if self._slices is None and self.alignment.slice is not None and not self.alignment.observes:
            logged = {i: offsets for i in self.sources if (offsets := self.run.logged_offsets(i)) is not None}
            window = milliseconds("Alignment(slice)", self.alignment.slice)
            self._slices = Slices(window, self.run.memory(), logged if len(logged) == len(self.sources) else None)
        return self._slices

    def add(self, index: int, source: Source) -> None:
        """Lets a source take part in the joint plan."""
        self.sources[index] = source
        self._open += 1

    def latest_offset(self, index: int, start: Offsets, budget: int | None, least: Least | None = None) -> Offsets:
        """Where the next batch of source `index` ends, given where the last one did. `budget`: offsets, None for no limit; `least`: what
        is worth a batch.
        """
        self.sources[index].budget = budget
        self._patience.least[index] = least
        if self._leader is None:
            self._leader = index
        if index == self._leader:
            rests = not self.alignment.observes and self._rest.lasts(self.sources, time.monotonic(), self._pause)
            self._answers = {} if rests else self._next_round(index, start)
        answer = self._answers.pop(index, start)
        self._served[index] = answer
        return answer

    def observe(self, index: int, start: Offsets, budget: int | None, native: Offsets) -> None:
        """Plans beside Spark, which goes on to `native` whatever comes out. Raises nothing."""
        try:
            planned = self.latest_offset(index, start, budget)
            self._observed.compare(start, native, planned)
            for split, end in native.items():
                self._left_out.count(split, self.sources[index].log.incredible(split, start.get(split, end), end))
        except Exception as error:
            self._observed.failed(error)
        self._served[index] = native

    def tell_progress(self, index: int) -> dict[str, str]:
        """What Spark's progress says of one source, by name; the first one's makes it known in the log too."""
        if self.view is None:
            return {}
        if index == min(self.sources):
            self._changes.tell(self.view)
        return source_metrics(self.view, index)

    def close(self) -> None:
        """To be called by each source when the query ends. The last one reports that the readers are finished, unless the run
        failed: then they keep their leases for the run that follows.
        """
        self._open -= 1
        if self._open > 0 or self._closed.is_set():
            return
        self._closed.set()
        self._left_out.sum_up()
        self._retention.sum_up()
        if self.alignment.observes:
            self._observed.sum_up()
        # Each is closed, whatever the others say: a lease that is kept on would hold the group for ever.
        for close in (self._leave, *(source.log.close for source in self.sources.values())):
            try:
                close()
            except Exception as error:
                log.warning("at the end of the query: %s", error)

    def _leave(self) -> None:
        if self.membership is None:
            return
        finished = None
        try:
            if self._found is not None and not self.run.failed():
                finished = self._standings(*self._found[1:])
        finally:
            self.membership.close(finished, returns=self.run.available_now)

    # -- a round: one plan for all sources --

    def _next_round(self, index: int, start: Offsets) -> dict[int, Offsets]:
        positions = {i: start if i == index else self._position(i) for i in self.sources}
        plan, seconds = self._plan_once(positions)
        if self._held(plan):
            plan, seconds = self._wait(positions, plan, seconds)
        if not self.run.available_now and not self.alignment.observes:
            plan = self._patience.put_off(plan, time.monotonic())
        assert self._found is not None
        longest = LONGEST_S if self.membership is None else self.membership.update_interval_s
        self._rest.begin(plan, self._found[1], time.monotonic(), longest)
        return self._adopt(plan, seconds)

    def _position(self, index: int) -> Offsets:
        if index in self._served:
            return self._served[index]
        return self.run.logged_offsets(index) or self.sources[index].initial()

    def _held(self, plan: Plan[Key]) -> bool:
        waits = bool(plan.paused) and plan.limit is not Limit.SLICE  # an open window is left to the next run
        return plan.offsets == 0 and waits and self.run.is_active() and not self.alignment.observes

    def _wait(self, positions: dict[int, Offsets], plan: Plan[Key], seconds: float) -> tuple[Plan[Key], float]:
        """One step, or until the next trigger is due: news before it would find nobody. Under AvailableNow for as long as it takes."""
        interval_s = 0.0 if self.run.available_now else self.run.interval_s
        since = risen = time.monotonic()
        horizon = plan.ceiling
        while self._held(plan):
            self._step(plan)
            plan, seconds = self._plan_once(positions)
            now = time.monotonic()
            if not self.run.available_now:
                if plan.limit is not Limit.GROUP or now - since >= interval_s:
                    break
                continue
            if plan.limit is not Limit.HORIZON or (plan.ceiling > horizon and self._comes_soon(plan)):
                horizon, risen = plan.ceiling, now
            if now - risen > _STALLED_S:
                log.warning(
                    "what is newer than %s is left to the next run: a live split may still bring older records", watermark.iso(plan.ceiling)
                )
                break
            self._check_hold(now - since, plan)
        return plan, seconds

    def _comes_soon(self, plan: Plan[Key]) -> bool:
        """Whether a horizon that rises with the clock gets to an unread record while live producers may be behind, not in 2099."""
        heads = [split.next.event_time for split in plan.splits.values() if split.next is not None]
        return min(heads, default=watermark.MAX) - plan.ceiling <= self.alignment.bounds.idle_timeout

    def _pause(self, seconds: float) -> None:
        """Until there is news of the group, or the end."""
        if self.membership is None:
            self._closed.wait(seconds)
        else:
            self.membership.wait_for_change(int(seconds * 1000))

    def _step(self, plan: Plan[Key]) -> None:
        if plan.limit is Limit.GROUP and self.membership is not None:
            self.membership.wait_for_change(STEP_MS)
        else:
            self._closed.wait(STEP_MS / 1000)

    def _check_hold(self, held_s: float, plan: Plan[Key]) -> None:
        most = self.alignment.max_hold
        if most is not None and held_s * 1000 > milliseconds("Alignment(max_hold)", most):
            raise HeldTooLong(
                f"nothing above {watermark.iso(plan.ceiling)} could be read for {held_s:.0f} s, and max_hold is {most!r};"
                f" {held_by(None if self.membership is None else self.membership.last)}"
            )

    # -- one plan --

    def _plan_once(self, positions: dict[int, Offsets]) -> tuple[Plan[Key], float]:
        began, asked = time.perf_counter(), self._asked()
        unread, survey = self._survey(positions)
        bounds = self._bounds()
        ceiling = watermark.MAX if self.membership is None else self.membership.exchange(self._standings(unread, survey))
        if self.membership is not None and self._bounds() != bounds:  # only now the group has told its drift
            unread, survey = self._survey(positions, again=True)
            ceiling = self.membership.exchange(self._standings(unread, survey))
        plan = survey.plan(ceiling) if self.slices is None else self.slices.plan(survey, ceiling, self._told)
        plan = self._retention.let_go(plan, unread, int(self._clock() * 1000))
        if self._pauses is not None:
            self._pauses.made(plan)
        return replace(plan, look_ups=self._asked() - asked), time.perf_counter() - began

    @property
    def _told(self) -> WatermarkAlignmentEvent | None:
        """What the coordinator told last."""
        return None if self.membership is None else self.membership.last

    def _asked(self) -> int:
        return sum(source.log.look_ups for source in self.sources.values())

    def _survey(self, positions: dict[int, Offsets], again: bool = False) -> tuple[Unread, Survey[Key]]:
        now = self._clock()
        unread = Unread.ask(self.sources, positions, int(now * 1000), self.alignment.credible(int(now * 1000)))
        if self._found is None:
            check_event_time(self.run, (source.event_time is not None for source in self.sources.values()), self.alignment)
            warn_at_start(self.run, unread, self._bounds())
        else:
            made_at, before, survey = self._found
            if not again and now - made_at < _FRESH_S and unread.same_as(before) and survey.limit is not Limit.HORIZON:
                return before, survey
        budgets = {i: source.budget for i, source in self.sources.items()}
        backlogs = unread.backlogs()
        survey = Survey(backlogs, unread, self._bounds(), budgets, self._learned)
        self._lags.see(backlogs, survey.heads, self._bounds().idle_timeout)
        self._found = (now, unread, survey)
        self._learned = survey.curve
        self._left_out.warn(self.sources, self.alignment)
        self._out_of_order.warn(self.sources, self._bounds().disorder)
        return unread, survey

    def _bounds(self) -> Bounds:
        if self._own_bounds is None:
            self._own_bounds = own_bounds(self.alignment, delay_of(self.run))
        bounds = self._own_bounds
        drift = None if self.membership is None else self.membership.max_drift
        return bounds if drift is None else replace(bounds, max_drift=drift)

    def _standings(self, unread: Unread, survey: Survey[Key]) -> dict[int, Standing]:
        """What to report: each source is a reader of its own, with its own watermark and the reach of the joint plan."""
        reach = None
        if self.membership is not None and self.membership.joint:
            reach = survey.reach if self.slices is None else self.slices.reach(survey)
        states = {} if self._plan is None else {key: split.state for key, split in self._plan.splits.items()}
        watermarks = survey.reported_watermarks()
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
            lowest = min((split.watermark for split in splits.values()), default=watermark.MAX)  # without a split it holds nobody
            standings[i] = Standing(lowest, reach if reach is not None and reach > lowest else None, splits)
        return standings

    def _adopt(self, plan: Plan[Key], seconds: float) -> dict[int, Offsets]:
        answers: dict[int, Offsets] = {i: {} for i in self.sources}
        for (i, split), made in plan.splits.items():
            answers[i][split] = made.end
        for i, source in self.sources.items():
            stops = {split: made.next for (j, split), made in plan.splits.items() if j == i and made.next and made.next.offset == made.end}
            source.log.planned(plan.target, {split: head for split, head in stops.items() if head is not None})
        self.view = replace(self._describe(plan, seconds), slice=self._take_slice(plan))
        self.view = self._out_of_order.show(self._retention.show(self.view, plan), self.sources)
        self._plan = plan
        return answers

    def _take_slice(self, plan: Plan[Key]) -> BatchSlice | None:
        if self.slices is None or self._found is None:
            return None
        return self.slices.take(plan, self._found[2].first, self._found[1], self._bounds().disorder)

    def _describe(self, plan: Plan[Key], seconds: float) -> BatchAlignment:
        slowest = None if self._found is None else self._found[2].slowest
        applied = not self.alignment.observes
        view = describe(plan, self.view, self._told, slowest, self._lags.seen, self._incredible, self._clock(), seconds, applied)
        return view if self.membership is None else replace(view, coordinator=self.membership.coordination)

    def _incredible(self, key: Key, start: int, end: int) -> int:
        records = self.sources[key[0]].log.incredible(key[1], start, end)
        if not self.alignment.observes:
            self._left_out.count(key[1], records)
        return records
