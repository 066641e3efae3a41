"""The dry run of observe mode, which compares the batches that Spark reads by itself with the
plans.
"""

import logging
from collections.abc import Mapping

from lockgate_spark.logs.requests import Offsets

log = logging.getLogger("lockgate")


class DryRun:
    """Compares the batches of one run with their plans.

    `ahead` is the number of batches that went beyond the plan; a batch of two sources counts twice
    if both do. `offsets_ahead` is the number of offsets that these batches read beyond their plans.
    `has_failed` says whether a plan could not be made.
    """

    def __init__(self) -> None:
        self.ahead = self.offsets_ahead = 0
        self.has_failed = False

    def compare(self, start: Offsets, native: Offsets, planned: Mapping[str, int]) -> None:
        """Add a batch of one source to the counts. The batch begins at `start`, Spark ends it at
        `native`, and the plan would end it at `planned`.
        """
        if all(start.get(split) == end for split, end in native.items()):
            return
        ahead = sum(
            max(0, end - max(planned[split], start.get(split, 0))) for split, end in native.items() if split in planned
        )
        self.ahead += ahead > 0
        self.offsets_ahead += ahead

    def failed(self, error: Exception) -> None:
        """Log that no plan could be made, as a warning the first time and at debug level later."""
        log.log(
            logging.DEBUG if self.has_failed else logging.WARNING,
            "mode observe: no plan could be made, and the query runs on unchanged: %s",
            error,
        )
        self.has_failed = True
