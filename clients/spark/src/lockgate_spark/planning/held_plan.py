"""The wait inside Spark's call of `latestOffset`, while a plan reads nothing although records are
unread.

Under most triggers, the wait is one step of 0.1 seconds. If the group limits the query, the wait
lasts until the query's next trigger is due. It is also longer if a producer has not shown its lag
yet, or if a record can be read within a second.

Under `Trigger.AvailableNow`, Spark would take an empty batch for the end of the data. So the wait
lasts until a record may be read, or until further waiting does not help and the run leaves the
remaining records to the next one.
"""

from collections.abc import Callable

from lockgate import watermark
from lockgate.duration import spoken_s
from lockgate.plan.model import Limit, Plan
from lockgate_http.group.membership import Membership
from lockgate_spark.config import Alignment, bounds_of
from lockgate_spark.logs.unread import Key
from lockgate_spark.planning.run import Run
from lockgate_spark.planning.steps import Planned
from lockgate_spark.telemetry.waits import check_max_wait

STEP_S = 0.1  # a held plan looks this often whether the query still runs
# A record that is stamped ahead of the clock by less than this is waited for.
_SOON_S = 1.0
_STALLED_S = 2.0  # a horizon that has not risen for this long will not rise in this run


class HeldPlans:
    """Makes one run wait while its plans read nothing although records are unread. `ticks` is a
    monotonic clock, in seconds. `sleep` waits for a number of seconds, or until the run ends.
    """

    def __init__(
        self,
        alignment: Alignment,
        run: Run,
        membership: Membership | None,
        ticks: Callable[[], float],
        sleep: Callable[[float], object],
    ) -> None:
        self._alignment, self._run, self._membership = alignment, run, membership
        self._ticks, self._sleep = ticks, sleep

    def holds(self, planned: Planned) -> bool:
        """Return whether the query waits instead of carrying out `planned`. It waits if the plan
        reads nothing and pauses splits. It does not wait in observe mode or after `query.stop()`,
        nor if the plan was put off for a larger batch or for the end of a window.
        """
        plan = planned.plan
        waits = bool(plan.paused) and plan.limit is not Limit.SLICE and not planned.put_off
        return plan.offsets == 0 and waits and self._run.is_active() and self._alignment.mode != "observe"

    def wait(
        self,
        held: Planned,
        plan_again: Callable[[], Planned],
        show: Callable[[Planned], None],
        careful: Callable[[], bool],
    ) -> Planned:
        """Make plans until one may be carried out, and return it. Return the last plan if the wait
        is given up.

        The first plan is `held`, and `plan_again` makes the next one. `show` is called with each
        plan that is not carried out. `careful` returns whether the query waits for a split whose
        producer has not shown its lag yet. Raises `WaitedTooLong` if a run under AvailableNow waits
        longer than `max_wait`, and the errors of `plan_again`.
        """
        interval_s = 0.0 if self._run.available_now else self._run.interval_s
        since = risen = self._ticks()
        planned, horizon = held, held.plan.ceiling
        while self.holds(planned):
            show(planned)
            self._step(planned.plan)
            planned = plan_again()
            plan = planned.plan
            now = self._ticks()
            if plan.limit is Limit.HORIZON and (careful() or (now - since < _SOON_S and _is_soon(plan))):
                risen = now
                continue
            if not self._run.available_now:
                if plan.limit is not Limit.GROUP or now - since >= interval_s:
                    break
                continue
            if plan.limit is not Limit.HORIZON or (plan.ceiling > horizon and self._will_rise_to(plan)):
                horizon, risen = plan.ceiling, now
            if now - risen > _STALLED_S:
                break
            what = f"nothing above {watermark.instant(plan.ceiling)} could be read for {spoken_s(now - since)}"
            event = None if self._membership is None else self._membership.last
            check_max_wait(self._alignment, now - since, what, event)
        return planned

    def pause(self, seconds: float) -> None:
        """Wait for at most `seconds`. The wait ends early if news of the group may change the next
        plan, or if the run ends.
        """
        if self._membership is None:
            self._sleep(seconds)
        else:
            self._membership.wait_for_change(int(seconds * 1000))

    def _step(self, plan: Plan[Key]) -> None:
        if plan.limit is Limit.GROUP and self._membership is not None:
            self._membership.wait_for_change(round(STEP_S * 1000))
        else:
            self._sleep(STEP_S)

    def _will_rise_to(self, plan: Plan[Key]) -> bool:
        """Return whether the plan's ceiling, which rises with the clock, reaches the first unread
        record within `idle_timeout`. For example, it does not reach a record stamped 2099.
        """
        return _first_held(plan) - plan.ceiling <= bounds_of(self._alignment).idle_timeout


def _first_held(plan: Plan[Key]) -> int:
    """Return the event time (ms) of the first record that a plan leaves unread; MAX if none is
    known.
    """
    return min(
        (split.next.event_time for split in plan.splits.values() if split.next is not None), default=watermark.MAX
    )


def _is_soon(plan: Plan[Key]) -> bool:
    """Return whether the first record that a plan leaves unread is at most a second above the
    plan's ceiling, so that the record can be read soon.
    """
    return _first_held(plan) - plan.ceiling <= _SOON_S * 1000
