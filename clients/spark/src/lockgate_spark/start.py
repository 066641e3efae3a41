"""What a query is told once, when its first plan is made: rows that are lost already, and a watermark delay that is too short."""

import logging
from typing import Protocol

from lockgate import watermark
from lockgate.planner import Bounds
from lockgate_spark.duration import readable
from lockgate_spark.logs.unread import Unread

log = logging.getLogger("lockgate")


class Checkpointed(Protocol):
    """What the checkpoint and the query's plan say."""

    def logged_watermark(self) -> int | None:
        """Spark's own watermark (ms) in the checkpoint; None without one."""

    def watermark_delays(self) -> list[int]:
        """The delays (ms) of the query's own `withWatermark`s."""


def warn_at_start(run: Checkpointed, unread: Unread, bounds: Bounds) -> None:
    """Logs a warning for each thing that loses rows whatever the planner does."""
    stored = run.logged_watermark()
    lost = 0 if stored is None else rows_below(unread, stored)
    if stored is not None and lost:
        log.warning(
            "the checkpoint's watermark is %s already: %d unread offsets lie at or below it, and Spark will drop what is late of them."
            " Alignment does not undo that; a new checkpoint reads them",
            watermark.iso(stored),
            lost,
        )
    delay = min(run.watermark_delays(), default=None)
    if delay is not None and delay < bounds.max_drift:
        log.warning(
            "the query's watermark delay is %s, and max_drift is %s: rows can be late and dropped. Make the delay at least max_drift",
            readable(delay),
            readable(bounds.max_drift),
        )


def rows_below(unread: Unread, event_time: int) -> int:
    """How many unread offsets lie before each split's first record above `event_time` (ms)."""
    unread.heads()
    above = unread.first_after(event_time)
    ends = {(i, split): end for i, of_source in unread.ends.items() for split, end in of_source.items()}
    starts = {(i, split): position for i, of_source in unread.positions.items() for split, position in of_source.items()}
    return sum((above[key].offset if key in above else end) - starts[key] for key, end in ends.items())
