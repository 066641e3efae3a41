"""A dry run (mode observe): compares the batches that Spark read by itself with the plans."""

import logging
from collections.abc import Mapping

from lockgate_spark.logs.requests import Offsets

log = logging.getLogger("lockgate")


class DryRun:
    """Counts the batches of one run, and the offsets in them that a plan would have left for
    later. A batch is counted once for each source.
    """

    def __init__(self) -> None:
        self._batches = self._ahead = self._offsets_ahead = 0
        self._failed = False

    def compare(self, start: Offsets, native: Offsets, planned: Mapping[str, int]) -> None:
        """Notes where Spark's batch ends, beside the plan's."""
        if all(start.get(split) == end for split, end in native.items()):
            return
        ahead = sum(
            max(0, end - max(planned[split], start.get(split, 0))) for split, end in native.items() if split in planned
        )
        self._batches += 1
        self._ahead += ahead > 0
        self._offsets_ahead += ahead

    def failed(self, error: Exception) -> None:
        """Warns once that no plan could be made."""
        log.log(
            logging.DEBUG if self._failed else logging.WARNING,
            "mode observe: no plan could be made, and the query goes on as it is: %s",
            error,
        )
        self._failed = True

    def sum_up(self) -> None:
        """Logs the counts."""
        log.info(
            "mode observe: Spark read %d batches, %d of them ahead of the plan, by %d offsets in all",
            self._batches,
            self._ahead,
            self._offsets_ahead,
        )
