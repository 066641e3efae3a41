"""What a user sees of waiting: one line when the group stops the query and one when it goes on,
never one a poll.

Whoever is faster than the others stops for a moment after each of its batches. That is how a group
works and worth no line; a pause that lasts is. Who was told that it began is told that it ended.
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

TOLD_AFTER_S = 2.0


class Pauses:
    """Of one query. `now`: seconds, monotonic."""

    def __init__(self, membership: Membership, now: Callable[[], float] = time.monotonic) -> None:
        self._of, self._now = membership, now
        self._since: float | None = None
        self._told = False

    def made(self, plan: Plan[Key]) -> None:
        """To be called with each plan, also those that read nothing."""
        if plan.offsets == 0 and plan.limit is Limit.GROUP and plan.paused:
            self.stands(plan.ceiling)
        else:
            self.goes_on(plan.target if plan.offsets else None)

    def goes_on(self, target: int | None) -> None:
        """The group does not stop the query. `target`: how far it goes, ms; None: it has nothing to
        read.
        """
        if self._since is None:
            return
        if self._told:
            went_on = "has nothing to read any more" if target is None else f"goes on to {watermark.iso(target)}"
            log.info(
                "group %s: %s %s, after %.1f s", self._of.group, self._of.source, went_on, self._now() - self._since
            )
        self._since, self._told = None, False

    def stands(self, ceiling: int) -> None:
        """The group stops the query, here (ms). To be called again and again."""
        if self._since is None:
            self._since = self._now()
        lasted_s = self._now() - self._since
        if not self._told and lasted_s >= TOLD_AFTER_S:
            self._told = True
            log.info(
                "group %s: %s is paused at %s, for %.0f s now; %s",
                self._of.group,
                self._of.source,
                watermark.iso(ceiling),
                lasted_s,
                "the coordinator cannot be reached"
                if self._of.coordination is Coordination.HOLDING
                else held_by(self._of.last),
            )


def held_by(told: WatermarkAlignmentEvent | None) -> str:
    """Who holds the group, and where each of them stands."""
    if told is None or not told.held_by:
        return "no other reader holds the group"
    return "held by " + ", ".join(f"{h.source}/{h.subtask} at {watermark.iso(h.watermark)}" for h in told.held_by)
