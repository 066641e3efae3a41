"""What a query does between plans that read nothing: Spark asks for the latest offset up to a
hundred times a second.

**Idle**: everything is read. The plan holds until a record comes, and no longer than a second, for
new partitions and the clock show in the next one only. The broker is not asked for the ends again
and again; it is left with one long poll, which it answers as soon as there is a record. Each call
of Spark's waits for that, `STEP_S` at most: so Spark asks ten times a second, and looks after
another source of the query, one that is not aligned, that much later. `query.stop()` interrupts the
wait.

**Held**: something is unread that may not be read yet. The next plan is made `HELD_S` later.
"""

from collections.abc import Callable, Mapping

from lockgate.plan.model import Plan
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread

STEP_S = 0.1
HELD_S = 0.05
LONGEST_S = 1.0


class IdleWait:
    """The rest after one plan. Times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._until = 0.0
        self._ends: Mapping[int, Offsets] | None = None  # of an idle query

    def begin(self, plan: Plan[Key], unread: Unread, now: float, longest: float = LONGEST_S) -> None:
        """To be called after each plan. `longest`: how long what was found holds in an idle query,
        s.
        """
        idle = not plan.offsets and unread.positions == unread.ends
        self._ends = unread.ends if idle else None
        self._until = 0.0 if plan.offsets else now + (min(longest, LONGEST_S) if idle else HELD_S)

    def lasts(self, sources: Mapping[int, Source], now: float, sleep: Callable[[float], object]) -> bool:
        """Whether the last plan, which read nothing, still holds. Waits before it says so, and
        while nothing may be read.
        """
        left = self._until - now
        if left <= 0:
            return False
        if self._ends is None:
            sleep(left)
            return False
        share = min(left, STEP_S) / max(1, len(sources))
        if any(source.comes(self._ends.get(i, {}), share) for i, source in sources.items()):
            self._until = 0.0
            return False
        return True
