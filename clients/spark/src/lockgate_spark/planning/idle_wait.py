"""The wait of a query after a plan that read nothing. Without this wait, Spark would ask for the
latest offset up to a hundred times a second.

**Idle**: everything is read. The plan stays valid until a record comes, but for a second at most,
so that the next plan can include new partitions and the present time. The broker is not asked for
the ends again and again. Instead, it gets one long poll, which it answers as soon as there is a
record. Each call of Spark waits for that answer for at most `STEP_S`. So Spark asks ten times a
second, and may find records of an unaligned source a tenth of a second later. `query.stop()`
interrupts the wait.

**Held**: records are unread, but may not be read yet. The next plan is made `HELD_S` later.
"""

from collections.abc import Callable, Mapping

from lockgate.plan.model import Plan
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.logs.unread import Key, Source, Unread

STEP_S = 0.1
HELD_S = 0.05
LONGEST_S = 1.0


class IdleWait:
    """The wait after one plan. All times are those of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._until = 0.0
        self._ends: Mapping[int, Offsets] | None = None  # of an idle query

    def begin(self, plan: Plan[Key], unread: Unread, now: float, longest: float = LONGEST_S) -> None:
        """Begin the wait after `plan`, which was made from `unread`. There is no wait if the plan
        reads records. In an idle query, the plan stays valid for `longest`, but for `LONGEST_S` at
        most.
        """
        idle = not plan.offsets and unread.positions == unread.ends
        self._ends = unread.ends if idle else None
        self._until = 0.0 if plan.offsets else now + (min(longest, LONGEST_S) if idle else HELD_S)

    def lasts(self, sources: Mapping[int, Source], now: float, sleep: Callable[[float], object]) -> bool:
        """Return whether the last plan, which read nothing, is still valid at `now`.

        If everything is read, wait up to `STEP_S` for a record to come. If nothing may be read yet,
        call `sleep` with the time until the next plan is due.
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
