"""How far the splits of a run are out of order, as far as its plans and samples have seen it: what
the plans go by where nothing was promised, what the view of each plan shows, and what is warned of.

**What the plans go by.** A disorder that is promised is taken as it is. Else it is the most that
was seen, up to half of `max_drift`: a single straggler from yesterday must not take all the room
that the group's readers have. What is beyond is warned of.

**Few records** say little. A split of which fewer than `ENOUGH` were held against others is taken
to be out of order by that half. It costs nothing where nothing lags, for there the clock says how
far others may go; where this split lags, they wait for so much longer.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lockgate.plan.model import Backlog, Bounds
from lockgate_spark.logs.unread import Key, Source

log = logging.getLogger("lockgate")

ENOUGH = 50


def measured(sources: Mapping[int, Source]) -> int:
    """The most (ms) that was seen in any split."""
    return max((disorder for source in sources.values() for disorder in source.log.disorders().values()), default=0)


def most_learned(max_drift: int) -> int:
    """The most (ms) that plans go by where nothing was promised."""
    return max_drift // 2


def careful(backlogs: Mapping[Key, Backlog], sources: Mapping[int, Source], bounds: Bounds) -> dict[Key, Backlog]:
    """The backlogs, with more disorder for those splits of which few records were seen."""
    return {
        key: replace(backlog, disorder=most_learned(bounds.max_drift))
        if sources[key[0]].log.compared(key[1]) < ENOUGH
        else backlog
        for key, backlog in backlogs.items()
    }
