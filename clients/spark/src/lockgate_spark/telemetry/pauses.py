"""Log lines about waiting: one when the group pauses the query, and one when the query goes on.

A query that is faster than the others pauses for a moment after each batch. That is how a group
works, and it is not logged. A pause that lasts is logged, and then its end is logged too.
"""

import logging
import time
from collections.abc import Callable

from lockgate import watermark
from lockgate.plan.model import Limit, Plan
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_spark.group.membership import Membership
from lockgate_spark.group.outage import Coordination
from lockgate_spark.logs.unread import Key

log = logging.getLogger("lockgate")

LOGGED_AFTER_S = 2.0


class Pauses:
    """The pauses of one query. `now`: seconds, monotonic."""

    def __init__(self, membership: Membership, now: Callable[[], float] = time.monotonic) -> None:
        self._membership, self._now = membership, now
        self._since: float | None = None
        self._logged = False

    def made(self, plan: Plan[Key]) -> None:
        """To be called with each plan, also with one that reads nothing."""
        if plan.offsets == 0 and plan.limit is Limit.GROUP and plan.paused:
            self.paused_at(plan.ceiling)
        else:
            self.goes_on(plan.target if plan.offsets else None)

    def goes_on(self, target: int | None) -> None:
        """The group does not pause the query. `target`: how far the query reads, ms; None: it has
        nothing to read.
        """
        if self._since is None:
            return
        if self._logged:
            went_on = "has nothing to read any more" if target is None else f"goes on to {watermark.iso(target)}"
            log.info(
                "group %s: %s %s, after %.1f s",
                self._membership.group,
                self._membership.source,
                went_on,
                self._now() - self._since,
            )
        self._since, self._logged = None, False

    def paused_at(self, ceiling: int) -> None:
        """The group pauses the query at this ceiling (ms). To be called at each look while the
        pause lasts.
        """
        if self._since is None:
            self._since = self._now()
        lasted_s = self._now() - self._since
        if not self._logged and lasted_s >= LOGGED_AFTER_S:
            self._logged = True
            log.info(
                "group %s: %s is paused at %s, for %.0f s now; %s",
                self._membership.group,
                self._membership.source,
                watermark.iso(ceiling),
                lasted_s,
                "the coordinator cannot be reached"
                if self._membership.coordination is Coordination.HOLDING
                else held_by(self._membership.last),
            )


def held_by(event: WatermarkAlignmentEvent | None) -> str:
    """The readers that hold the group, each with its watermark, for a person."""
    if event is None or not event.held_by:
        return "no other reader holds the group"
    return "held by " + ", ".join(f"{h.source}/{h.subtask} at {watermark.iso(h.watermark)}" for h in event.held_by)
