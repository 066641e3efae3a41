"""Disorder as a user sees it: the view shows what was seen, and one warning a split names what the
plans cannot allow for.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lockgate_spark.duration import readable
from lockgate_spark.logs.unread import Key, Source
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")


class OutOfOrder:
    """The disorder of one run's splits. Each split is warned of once."""

    def __init__(self) -> None:
        self._warned: set[Key] = set()
        self._logged = 0

    def show(self, view: BatchAlignment, sources: Mapping[int, Source]) -> BatchAlignment:
        """The view of a plan, with the disorder that was seen in each split."""
        seen = {
            (i, split): ms
            for i, source in sources.items()
            for split, learned in source.log.learned.items()
            if (ms := learned.points.disorder)
        }
        if not seen:
            return view
        return replace(
            view,
            splits=tuple(replace(split, disorder=seen.get((split.source, split.split), 0)) for split in view.splits),
        )

    def warn(self, sources: Mapping[int, Source], allowed: int, learned: int | None) -> None:
        """Names each split in which a record was older than one before it by more than `allowed`
        (ms). `learned`: the disorder that the plans go by because it was seen, and which is logged;
        None where the user has set one.
        """
        if learned is not None and learned > 2 * self._logged:
            self._logged = learned
            log.info(
                "records are out of order by %s at least: the plans go by that, since no disorder is set",
                readable(learned),
            )
        for i, source in sources.items():
            for split, known in source.log.learned.items():
                disorder = known.points.disorder
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
