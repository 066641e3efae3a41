"""The account of a run in mode observe: what Spark read by itself, against what would have been
planned.
"""

import logging
from collections.abc import Mapping

from lockgate_spark.logs.kafka import Offsets

log = logging.getLogger("lockgate")


class Observed:
    """Batches of one run, source by source, and how many offsets they hold that a plan would have
    left for later.
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
        """Says once that nothing can be told."""
        log.log(
            logging.DEBUG if self._failed else logging.WARNING,
            "mode observe: no plan could be made, and the query goes on as it is: %s",
            error,
        )
        self._failed = True

    def sum_up(self) -> None:
        """Logs the account."""
        log.info(
            "mode observe: Spark read %d batches, %d of them ahead of the plan, by %d offsets in all",
            self._batches,
            self._ahead,
            self._offsets_ahead,
        )
