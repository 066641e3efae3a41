"""How far the splits of a run are out of order, as far as plans and samples have seen it, and the
disorder that the plans go by.

**The plans' disorder.** A disorder that the user promised is used as it is. Else the plans use the
largest one that was seen, up to half of `max_drift`: one straggler from yesterday must not take all
the room of the group's readers. A larger one is warned of (`telemetry.out_of_order`).

**Few records** say little. A split of which fewer than `ENOUGH` records were compared is taken to
be out of order by that half. This costs nothing where no producer lags, because there the clock
says how far other splits may go. Where this split lags, they wait for it that much longer.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lockgate.plan.model import Backlog, Bounds
from lockgate_spark.logs.unread import Key, Source

log = logging.getLogger("lockgate")

ENOUGH = 50


def measured(sources: Mapping[int, Source]) -> int:
    """Return the largest out-of-orderness (ms) that was seen in any split."""
    return max(
        (learned.points.disorder for source in sources.values() for learned in source.log.learned.values()), default=0
    )


def most_learned(max_drift: int) -> int:
    """Return the largest out-of-orderness (ms) that plans allow for if none was promised."""
    return max_drift // 2


def careful(backlogs: Mapping[Key, Backlog], sources: Mapping[int, Source], bounds: Bounds) -> dict[Key, Backlog]:
    """Return the backlogs, with more out-of-orderness for splits of which few records were seen."""
    return {
        key: replace(backlog, disorder=most_learned(bounds.max_drift))
        if sources[key[0]].log.learned[key[1]].points.compared < ENOUGH
        else backlog
        for key, backlog in backlogs.items()
    }
