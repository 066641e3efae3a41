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
from lockgate_spark.duration import readable
from lockgate_spark.logs.unread import Key, Source
from lockgate_spark.planning.view import BatchAlignment

log = logging.getLogger("lockgate")

ENOUGH = 50


def measured(sources: Mapping[int, Source]) -> int:
    """The most (ms) that was seen in any split."""
    return max((disorder for source in sources.values() for disorder in source.log.disorders().values()), default=0)


def most(max_drift: int) -> int:
    """The most (ms) that plans go by where nothing was promised."""
    return max_drift // 2


def careful(backlogs: Mapping[Key, Backlog], sources: Mapping[int, Source], bounds: Bounds) -> dict[Key, Backlog]:
    """The backlogs, with more disorder for those splits of which few records were seen."""
    return {
        key: replace(backlog, disorder=most(bounds.max_drift))
        if sources[key[0]].log.compared(key[1]) < ENOUGH
        else backlog
        for key, backlog in backlogs.items()
    }


class OutOfOrder:
    """The account of one run."""

    def __init__(self) -> None:
        self._warned: set[Key] = set()
        self._told = 0

    def show(self, view: BatchAlignment, sources: Mapping[int, Source]) -> BatchAlignment:
        """The view of a plan, with what was seen of its splits."""
        seen = {(i, split): ms for i, source in sources.items() for split, ms in source.log.disorders().items() if ms}
        if not seen:
            return view
        return replace(
            view,
            splits=tuple(replace(split, disorder=seen.get((split.source, split.split), 0)) for split in view.splits),
        )

    def warn(self, sources: Mapping[int, Source], bounds: Bounds, promised: bool) -> None:
        """Names each split in which a record was seen to be older than one before it by more than
        plans can allow for. `promised`: the user has set the disorder of `bounds`; else it is what
        was seen, and is made known.
        """
        allowed = bounds.disorder if promised else most(bounds.max_drift)
        if not promised and bounds.disorder > 2 * self._told:
            self._told = bounds.disorder
            log.info(
                "records are out of order by %s at least: the plans go by that, since no disorder is set",
                readable(bounds.disorder),
            )
        for i, source in sources.items():
            for split, disorder in source.log.disorders().items():
                if disorder <= allowed or (i, split) in self._warned:
                    continue
                self._warned.add((i, split))
                log.warning(
                    "the records of %s are out of order by %s at least, and the plans allow for %s: rows can be "
                    "late and dropped. Set"
                    " Alignment(disorder=…), and a watermark delay of at least max_drift + disorder",
                    split,
                    readable(disorder),
                    readable(allowed),
                )
