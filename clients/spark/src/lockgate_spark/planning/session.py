"""The planning of one query run: all its aligned sources together, as Spark asks for them one by
one.

Spark asks each source in turn where the next batch ends. The first in Spark's order leads: when it
is asked, the plan for all is made, and the others are answered from it; so whatever a batch holds
was planned together. What is done is the `start` that Spark passes (a batch is committed to its
sources only when the next one is built); of the others it is what they were last answered, and
after a restart the end of the last batch in the checkpoint's offset log.

While nothing may be read a plan answers `start`, and Spark asks again; under `Trigger.AvailableNow`
Spark would take that for the end of the data, so there the plan waits as long as the query runs.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from lockgate_spark.config import Alignment
from lockgate_spark.duration import milliseconds
from lockgate_spark.errors import HeldTooLong
from lockgate_spark.group.membership import Membership
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.logs.unread import Key, Source
from lockgate_spark.planning.gauges import Gauges, gauges, late_gauges
from lockgate_spark.planning.joint import JointPlanner
from lockgate_spark.planning.patience import Least, Patience
from lockgate_spark.planning.pauses import held_by
from lockgate_spark.planning.rest import LONGEST_S, Rest
from lockgate_spark.planning.run import Run
from lockgate_spark.planning.slices import BatchSlice
from lockgate_spark.planning.view import BatchAlignment, describe

log = logging.getLogger("lockgate")

STEP_MS = 100  # a waiting plan looks this often whether the query still runs
_SHOW_S = 1.0  # and its gauges move this often
# a record stamped ahead of the clock by less is waited for: Spark would take "nothing yet" for the
# end of the data
_SOON_S = 1.0
_STALLED_S = 2.0  # a horizon that stands still for so long will not rise in this run


class Session:
    """One run of one query. `clock`: wall clock in seconds. `gauges`: where its numbers are shown,
    if anywhere.
    """

    def __init__(
        self,
        alignment: Alignment,
        run: Run,
        membership: Membership | None = None,
        clock: Callable[[], float] = time.time,
        gauges: Gauges | None = None,
    ) -> None:
        self.alignment, self.run, self.membership = alignment, run, membership
        self.sources: dict[int, Source] = {}
        # what the executors reported last was not taken, and it was said so
        self.progress_fails = False
        self._planner = JointPlanner(alignment, run, membership, self.sources, clock)
        self._clock, self._gauges = clock, gauges
        self._shown: BatchAlignment | None = None
        self._late: dict[int, int] = {}
        self._leader: int | None = None
        self._served: dict[int, Offsets] = {}  # what each source was last answered
        self._answers: dict[int, Offsets] = {}  # of this round, not yet asked for
        self._patience, self._rest = Patience(), Rest()
        self._open = 0
        self._closed = threading.Event()

    @property
    def closed(self) -> bool:
        """Whether the run has ended."""
        return self._closed.is_set()

    @property
    def view(self) -> BatchAlignment | None:
        """Of the last plan; None before the first."""
        return self._planner.account.view

    @property
    def disorder(self) -> int:
        """How far out of order (ms) records of one split are taken to be."""
        return self._planner.disorder

    @property
    def slice(self) -> BatchSlice | None:
        """Of the batch in hand, be it one that Spark replays; None where it is not known, or
        batches are not cut so.
        """
        if self.view is not None:
            return self.view.slice
        return None if self._planner.slices is None else self._planner.slices.replayed

    def add(self, index: int, source: Source) -> None:
        """Lets a source take part in the joint plan."""
        self.sources[index] = source
        self._open += 1

    def latest_offset(self, index: int, start: Offsets, budget: int | None, least: Least | None = None) -> Offsets:
        """Where the next batch of source `index` ends, given where the last one did. `budget`:
        offsets, None for no limit; `least`: what is worth a batch.
        """
        self.sources[index].budget = budget
        self._patience.least[index] = least
        if self._leader is None:
            self._leader = index
        if index == self._leader:
            rests = not self.alignment.observes and self._rest.lasts(self.sources, time.monotonic(), self._pause)
            self._answers = {} if rests else self._next_round(index, start)
        answer = self._answers.pop(index, start)
        self._serve(index, answer)
        return answer

    def observe(self, index: int, start: Offsets, budget: int | None, native: Offsets) -> None:
        """Plans beside Spark, which goes on to `native` whatever comes out. Raises nothing."""
        try:
            planned = self.latest_offset(index, start, budget)
            self._planner.account.read_natively(index, start, native, planned)
        except Exception as error:
            self._planner.account.failed(error)
        self._serve(index, native)

    def tell_progress(self, index: int) -> dict[str, str]:
        """What Spark's progress says of one source, by name."""
        return self._planner.account.progress(index)

    def tell_late(self, index: int, total: int) -> None:
        """How many rows of one source were late in the run so far, where they are counted."""
        self._late[index] = total
        if self._gauges is not None:
            self._gauges.show(late_gauges(sum(self._late.values())))

    def close(self) -> None:
        """To be called by each source when the query ends. The last one reports that the readers
        are finished, unless the run failed: then they keep their leases for the run that follows.
        """
        self._open -= 1
        if self._open <= 0:
            self.end()

    def end(self) -> None:
        """The end, whoever still reads. Of a run that cannot begin Spark stops no source, so that
        one is to be ended by this.
        """
        if self._closed.is_set():
            return
        self._closed.set()
        self._planner.sum_up()
        # Each is closed, whatever the others say: a lease that is kept on would hold the group for
        # ever.
        for close in (self._leave, self._hide, *(source.log.close for source in self.sources.values())):
            try:
                close()
            except Exception as error:
                log.warning("at the end of the query: %s", error)

    def _leave(self) -> None:
        if self.membership is None:
            return
        finished = None
        try:
            if not self.run.failed():
                finished = self._planner.standings()
        finally:
            self.membership.close(finished, returns=self.run.available_now)

    def _hide(self) -> None:
        if self._gauges is not None:
            self._gauges.close()

    # -- a round: one plan for all sources --

    def _next_round(self, index: int, start: Offsets) -> dict[int, Offsets]:
        positions = {i: start if i == index else self._position(i) for i in self.sources}
        plan, seconds = self._planner.plan(positions)
        if self._held(plan):
            plan, seconds = self._wait(positions, plan, seconds)
        if not self.run.available_now and not self.alignment.observes:
            plan = self._patience.put_off(plan, time.monotonic())
        longest = LONGEST_S if self.membership is None else self.membership.update_interval_s
        self._rest.begin(plan, self._planner.unread, time.monotonic(), longest)
        ends = self._planner.carry_out(plan, seconds)
        self._show(self.view)
        return ends

    def _show(self, view: BatchAlignment | None) -> None:
        if self._gauges is not None and view is not None:
            self._shown = view
            self._gauges.show(gauges(view))

    def _show_waiting(self, plan: Plan[Key], seconds: float) -> None:
        """A plan that is not carried out, while the query waits for a better one: what it found
        unread was told of before.
        """
        now = self._clock()
        if self._gauges is None or (self._shown is not None and 0 <= now - self._shown.planned_at < _SHOW_S):
            return
        told = None if self.membership is None else self.membership.last
        view = describe(plan, self._shown, told, None, {}, lambda *_: 0, now, seconds, True)
        self._show(replace(view, coordinator=None if self.membership is None else self.membership.coordination))

    def _serve(self, index: int, offsets: Offsets) -> None:
        """Notes what a source was answered. Where all its topics are gone Spark keeps the offsets
        that it has.
        """
        if offsets or index not in self._served:
            self._served[index] = offsets

    def _position(self, index: int) -> Offsets:
        if index in self._served:
            return self._served[index]
        return self.run.start_offsets(index) or self.sources[index].initial()

    def _held(self, plan: Plan[Key]) -> bool:
        # an open window is left to the next run
        waits = bool(plan.paused) and plan.limit is not Limit.SLICE
        return plan.offsets == 0 and waits and self.run.is_active() and not self.alignment.observes

    def _wait(self, positions: dict[int, Offsets], plan: Plan[Key], seconds: float) -> tuple[Plan[Key], float]:
        """One step, or until the next trigger is due: news before it would find nobody. Under
        AvailableNow for as long as it takes.
        """
        interval_s = 0.0 if self.run.available_now else self.run.interval_s
        since = risen = time.monotonic()
        horizon = plan.ceiling
        while self._held(plan):
            self._show_waiting(plan, seconds)
            self._step(plan)
            plan, seconds = self._planner.plan(positions)
            now = time.monotonic()
            if plan.limit is Limit.HORIZON and (self._planner.careful or (now - since < _SOON_S and _nearly(plan))):
                risen = now
                continue
            if not self.run.available_now:
                if plan.limit is not Limit.GROUP or now - since >= interval_s:
                    break
                continue
            if plan.limit is not Limit.HORIZON or (plan.ceiling > horizon and self._comes_soon(plan)):
                horizon, risen = plan.ceiling, now
            if now - risen > _STALLED_S:
                log.warning(
                    "what is newer than %s is left to the next run: a live split may still bring older records",
                    watermark.iso(plan.ceiling),
                )
                break
            self._check_hold(now - since, plan)
        return plan, seconds

    def _comes_soon(self, plan: Plan[Key]) -> bool:
        """Whether a horizon that rises with the clock gets to an unread record while live producers
        may be behind, not in 2099.
        """
        return _first_held(plan) - plan.ceiling <= self.alignment.bounds.idle_timeout

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
                f"nothing above {watermark.iso(plan.ceiling)} could be read for {held_s:.0f} s, and max_hold is "
                f"{most!r};"
                f" {held_by(None if self.membership is None else self.membership.last)}"
            )


def _first_held(plan: Plan[Key]) -> int:
    """Event time (ms) of the first record that a plan leaves unread."""
    return min(
        (split.next.event_time for split in plan.splits.values() if split.next is not None), default=watermark.MAX
    )


def _nearly(plan: Plan[Key]) -> bool:
    """Whether the clock gets to that record in a moment."""
    return _first_held(plan) - plan.ceiling <= _SOON_S * 1000
