"""What a run says of splits that are out of order, as far as plans can see it: in the view of each plan, and one warning a split where it
is more than was promised.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace

from lockgate_spark.duration import readable
from lockgate_spark.logs.unread import Key, Source
from lockgate_spark.planning.view import BatchAlignment

log = logging.getLogger("lockgate")


class OutOfOrder:
    """The account of one run."""

    def __init__(self) -> None:
        self._warned: set[Key] = set()

    def show(self, view: BatchAlignment, sources: Mapping[int, Source]) -> BatchAlignment:
        """The view of a plan, with what was seen of its splits."""
        seen = {(i, split): ms for i, source in sources.items() for split, ms in source.log.disorders().items() if ms}
        if not seen:
            return view
        return replace(view, splits=tuple(replace(split, disorder=seen.get((split.source, split.split), 0)) for split in view.splits))

    def warn(self, sources: Mapping[int, Source], promised: int) -> None:
        """Names each split in which a record was seen to be more than `promised` ms older than one before it."""
        for i, source in sources.items():
            for split, disorder in source.log.disorders().items():
                if disorder <= promised or (i, split) in self._warned:
                    continue
                self._warned.add((i, split))
                log.warning(
                    "the records of %s are out of order by %s at least, and disorder is %s: rows can be late and dropped. Set"
                    " Alignment(disorder=…), and a watermark delay of at least max_drift + disorder",
                    split,
                    readable(disorder),
                    readable(promised),
                )
