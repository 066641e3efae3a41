"""Simulate a workload under plain Spark and with several values of `max_drift`, and choose the
value to advise.

**The advice.** Only values of `max_drift` that lose no row are considered. The advice is the
smallest value with nearly the highest throughput and nearly the shortest wait of live records among
them (`FAST_ENOUGH`). A smaller value leaves more of the watermark delay for producers that are
later than before. If no value has both, the advice is the value that comes closest. If every value
loses rows, the only advice is a longer watermark delay.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lockgate.errors import InvalidValue
from lockgate.simulate.fleet import RunOutcome, aligned, native
from lockgate.simulate.workload import Workload

FAST_ENOUGH = 0.95
DEFAULT_SHARES = (1, 2, 5, 10, 20, 60)
"""The default drifts are the shortest delay divided by each of these, and twice the delay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The outcomes of one workload: under plain Spark, and with each `max_drift`."""

    native: RunOutcome
    aligned: tuple[RunOutcome, ...]

    @property
    def advised(self) -> RunOutcome | None:
        """The outcome of the `max_drift` to use (rule of this module), or None if all lose rows."""
        whole = [outcome for outcome in self.aligned if not outcome.lost]
        fastest = max((outcome.rows_per_second for outcome in whole), default=0.0)
        freshest = min((outcome.longest_wait_ms for outcome in whole), default=0)

        def closeness(outcome: RunOutcome) -> float:
            speed = outcome.rows_per_second / fastest if fastest else 1.0
            return min(speed, freshest / outcome.longest_wait_ms if outcome.longest_wait_ms else 1.0)

        close = (outcome for outcome in whole if closeness(outcome) >= FAST_ENOUGH)
        return next(close, max(whole, key=closeness, default=None))


def default_drifts(workload: Workload) -> tuple[int, ...]:
    """Return the values of `max_drift` (ms) to try: fractions of the shortest watermark delay, and
    twice that delay. Each is above all queries' out-of-orderness. If none is, return the largest
    out-of-orderness + 1.
    """
    delay = min(query.delay_ms for query in workload.queries)
    disorder = max(query.disorder_ms for query in workload.queries)
    drifts = {delay // share for share in DEFAULT_SHARES} | {2 * delay}
    return tuple(sorted(drift for drift in drifts if drift > disorder)) or (disorder + 1,)


def sweep(workload: Workload, drifts: Sequence[int], progress: Callable[[float], None] = lambda _: None) -> Sweep:
    """Return the outcomes of `workload` under plain Spark and with each `max_drift` of `drifts`.

    The drifts are in ms. `progress` is called with the share that is done, 0 to 1. Raises
    `InvalidValue` if `drifts` is empty, if a drift is not above each query's out-of-orderness, or
    if a simulation takes more than `MOST_STEPS` plans.
    """
    if not drifts:
        raise InvalidValue("max_drift", "give at least one")
    ordered = sorted(set(drifts))
    runs = len(ordered) + 1

    def part(done: int) -> Callable[[float], None]:
        return lambda share: progress((done + share) / runs)

    return Sweep(
        native=native(workload, part(0)),
        aligned=tuple(aligned(workload, drift, part(number)) for number, drift in enumerate(ordered, 1)),
    )
