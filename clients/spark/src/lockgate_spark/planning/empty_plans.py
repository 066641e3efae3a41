"""The waits after plans that read nothing, inside Spark's call of `latestOffset`.

**Idle**: everything is read. The plan stays valid until a record comes, but for a second at most,
so that the next plan can include new partitions and the present time. The broker gets one long
poll, for whose answer each call of Spark waits at most `STEP_S`. `query.stop()` interrupts the
wait.

**Held**: records are unread, but may not be read yet. Under most triggers, the call waits for one
step, makes another plan, and returns even if that plan is empty, too. The wait is longer if a
producer has not shown its lag yet, if a record can be read within a second, or if the group limits
the query: then it lasts until the next trigger is due.

Under `Trigger.AvailableNow`, Spark would take an empty batch for the end of the data. So the wait
lasts until a record may be read, or until the run leaves the rest to the next one.
"""

from collections.abc import Callable, Mapping

from lockgate import watermark
from lockgate.duration import spoken_s
from lockgate.plan.model import Limit
from lockgate_spark.config import bounds_of
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.planner import Planner
from lockgate_spark.planning.steps import Planned
from lockgate_spark.telemetry.waits import check_max_wait

STEP_S = 0.1  # the longest time between two looks whether the query still runs
HELD_S = 0.05  # from an empty plan to the plan for Spark's next call
LONGEST_S = 1.0  # the longest time for which the plan of an idle query stays valid
_SOON_S = 1.0  # a record that is stamped ahead of the clock by less than this is waited for
_STALLED_S = 2.0  # a horizon that has not risen for this long will not rise in this run


class EmptyPlans:
    """Waits after plans of one run that read nothing. `sleep` waits for a number of seconds, or
    until the run ends.
    """

    def __init__(self, planner: Planner, sleep: Callable[[float], object]) -> None:
        self._planner, self._query, self._sleep, self._ticks = planner, planner.query, sleep, planner.ticks
        self._membership = planner.membership
        self._until = 0.0  # by the monotonic clock
        self._ends: Mapping[int, Offsets] | None = None  # of an idle query

    def wait(self, planned: Planned, positions: Mapping[int, Offsets], show: Callable[[Planned], None]) -> Planned:
        """Make plans from the offsets `positions` on, after the first one, `planned`, until one may
        be carried out or the wait is given up, and return it. `show` is called with each of the
        others. Raises `WaitedTooLong` if a run under AvailableNow waits longer than `max_wait`, and
        the errors of `Planner.plan`.
        """
        interval_s = 0.0 if self._query.run.available_now else self._query.run.interval_s
        since = risen = self._ticks()
        horizon = planned.plan.ceiling
        while self._holds(planned):
            show(planned)
            self._pause(STEP_S, for_group=planned.plan.limit is Limit.GROUP)
            planned = self._planner.plan(positions)
            plan, first, now = planned.plan, planned.first_paused, self._ticks()
            # how far (ms) the ceiling, which rises with the clock, is below the first unread record
            below = watermark.MAX if first is None else first[1] - plan.ceiling
            soon = now - since < _SOON_S and below <= _SOON_S * 1000
            if plan.limit is Limit.HORIZON and (self._planner.looker.producers.careful or soon):
                risen = now
                continue
            if not self._query.run.available_now:
                if plan.limit is not Limit.GROUP or now - since >= interval_s:
                    break
                continue
            # The ceiling does not reach a record stamped 2099 within `idle_timeout`, for example.
            will_reach = below <= bounds_of(self._query.alignment).idle_timeout
            if plan.limit is not Limit.HORIZON or (plan.ceiling > horizon and will_reach):
                horizon, risen = plan.ceiling, now
            if now - risen > _STALLED_S:
                break
            what = f"nothing above {watermark.instant(plan.ceiling)} could be read for {spoken_s(now - since)}"
            event = None if self._membership is None else self._membership.last
            check_max_wait(self._query.alignment, now - since, what, event)
        return planned

    def begin(self, planned: Planned) -> None:
        """Begin the wait after `planned`, which is carried out, if it reads nothing."""
        plan, unread = planned.plan, planned.look.unread
        longest = LONGEST_S if self._membership is None else self._membership.update_interval_s
        idle = not plan.offsets and unread.positions == unread.ends
        self._ends = unread.ends if idle else None
        self._until = 0.0 if plan.offsets else self._ticks() + (min(longest, LONGEST_S) if idle else HELD_S)

    def last_holds(self) -> bool:
        """Return whether the last plan that was carried out read nothing and is still valid, after
        the wait for a record to come, or for the next plan to be due.
        """
        left = self._until - self._ticks()
        if left <= 0 or self._query.observes:
            return False
        if self._ends is None:
            self._pause(left)
            return False
        share = min(left, STEP_S) / max(1, len(self._query.sources))
        if any(source.comes(self._ends.get(i, {}), share) for i, source in self._query.sources.items()):
            self._until = 0.0
            return False
        return True

    def _holds(self, planned: Planned) -> bool:
        """Return whether the query waits instead of carrying out `planned`; not in observe mode,
        after `query.stop()`, or for a larger batch or the end of a window.
        """
        plan = planned.plan
        waits = bool(plan.paused) and plan.limit is not Limit.SLICE and not planned.put_off
        return plan.offsets == 0 and waits and self._query.run.is_active() and not self._query.observes

    def _pause(self, seconds: float, *, for_group: bool = True) -> None:
        """Wait at most until the run ends or, if `for_group`, news of the group may matter."""
        if for_group and self._membership is not None:
            self._membership.wait_for_change(round(seconds * 1000))
        else:
            self._sleep(seconds)
