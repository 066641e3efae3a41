"""Makes the look for the next plan (`planning.look`) while Spark still runs the current batch.

A look needs only the offsets at which the next batch begins. They are known as soon as the current
batch is planned. A plan made from an earlier look loses no rows, because every plan allows for
records that are still to come. It only misses the newest records, and these do not matter if the
budgets limit the batch. So a look ahead is made only after a batch that the budgets limited, and
used only if the budgets limit the next batch, too. In live operation, they do not limit the
batches, so the look is made when Spark asks for the plan.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import NamedTuple

from lockgate.plan.model import Limit
from lockgate_spark.errors import Stopped
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.look import Looker
from lockgate_spark.planning.run import Run
from lockgate_spark.planning.steps import Look, Planned

log = logging.getLogger("lockgate")

_STEP_S = 0.1  # a wait looks this often whether the query still runs
_SETTLE_S = 5.0  # longer than an interrupt takes

Positions = Mapping[int, Offsets]
Begin = Callable[[Callable[[], None]], Callable[[], object]]
"""A function that runs its argument on another thread. It returns a function that interrupts the
requests of that thread.
"""


class _UnderWay(NamedTuple):
    positions: Positions
    look: Future[Look]
    interrupt: Callable[[], object]


class LookAhead:
    """Makes the look for the next plan of one run on another thread, which `begin` starts, unless
    it is None. `clock` is the wall clock in seconds. From the start of a look until `take` or `end`
    has returned, only the look's thread may use `looker`.
    """

    def __init__(self, looker: Looker, run: Run, clock: Callable[[], float], begin: Begin | None) -> None:
        self._looker, self._run, self._clock, self._begin = looker, run, clock, begin
        self._under_way: _UnderWay | None = None

    def begin(self, after: Planned, positions: Positions, read_upto: int) -> None:
        """Begin the look for the plan that follows `after`, if a budget has limited the batch of
        `after`, which ends at `positions`. The run has read up to `read_upto` (event time in ms).
        """
        if self._begin is None or after.plan.offsets == 0 or after.basis.look.answers.limit is not Limit.BUDGET:
            return
        future: Future[Look] = Future()

        def look() -> None:
            try:
                future.set_result(self._looker.look(positions, read_upto))
            except Exception as error:  # the look that Spark asks for says so
                log.debug("the look ahead failed", exc_info=error)
                future.set_exception(error)

        self._under_way = _UnderWay(positions, future, self._begin(look))

    def take(self, positions: Positions) -> Look | None:
        """Wait for the look that `begin` has started, and return it. Return None if there is none,
        or if it was made for other positions, has failed, or is no longer valid. Raises `Stopped`
        if the query is stopped during the wait.
        """
        if self._under_way is None:
            return None
        made_for, made, _ = self._under_way
        while not wait((made,), _STEP_S).done:
            if not self._run.is_active():
                raise Stopped()
        self._under_way = None
        if made_for != positions or made.exception() is not None:
            return None
        look = made.result()
        if not look.holds_unseen(self._clock()):
            return None
        self._looker.look_at_slices(look)  # records may have been deleted since the look
        return look

    @property
    def under_way(self) -> bool:
        """Whether a look is being made."""
        return self._under_way is not None and not self._under_way.look.done()

    def end(self) -> None:
        """Interrupt the look that is under way, if any, and wait up to five seconds for its end."""
        if self._under_way is not None:
            self._under_way.interrupt()
            wait((self._under_way.look,), _SETTLE_S)
