"""Log lines about records that are left out of the alignment because of their event time. There is
a warning about the first such record of each split, and a line with the number of such records at
the end of the run.
"""

import logging
from collections import Counter
from collections.abc import Collection, Mapping

from lockgate import watermark
from lockgate.duration import spoken
from lockgate_http.duration import Duration, milliseconds
from lockgate_spark.config import Alignment
from lockgate_spark.logs.names import named, names
from lockgate_spark.logs.unread import Key, Source

log = logging.getLogger("lockgate")


class LeftOut:
    """Counts the left-out records of one run, as `records` by split. Records that no plan has
    inspected are not counted.
    """

    def __init__(self) -> None:
        self.records: Counter[Key] = Counter()
        self._warned: set[Key] = set()
        self._known: Collection[Key] = ()

    def warn(self, sources: Mapping[int, Source], alignment: Alignment) -> None:
        """Log a warning about the first left-out record of each split that has not been warned
        about yet.
        """
        self._known = [(i, split) for i, source in sources.items() for split in source.log.learned]
        for i, source in sources.items():
            for split, learned in source.log.learned.items():
                record = learned.points.first_met
                if record is None or (i, split) in self._warned:
                    continue
                self._warned.add((i, split))
                log.warning(
                    "%s: the record at offset %d %s. It and others like it are left out of the alignment, but "
                    "still move Spark's own watermark. Filter them before withWatermark",
                    named((i, split), self._known),
                    record.offset,
                    _reason(
                        record.event_time, source.log.credible.latest, alignment.future_bound, alignment.past_bound
                    ),
                )

    def count(self, key: Key, records: int) -> None:
        """Add `records` left-out records of a batch to the count of the split `key`."""
        if records:
            self.records[key] += records

    def sum_up(self) -> None:
        """Log the number of left-out records of each split."""
        if self.records:
            called = names(self.records, self._known)
            log.info(
                "at least this many records were left out of the alignment, by partition: %s",
                ", ".join(f"{called[key]} {n}" for key, n in sorted(self.records.items())),
            )


def _reason(event_time: int, latest: int, future_bound: Duration | None, past_bound: Duration | None) -> str:
    if event_time < 0:
        return "has no event time"
    stamped = f"is stamped {watermark.instant(event_time)}"
    if event_time > latest:
        return f"{stamped}, more than future_bound ({bound(future_bound)}) ahead of the clock"
    return f"{stamped}, more than past_bound ({bound(past_bound)}) behind the clock"


def bound(length: Duration | None) -> str:
    """Return the bound `length` as text; "none" if it is None."""
    return "none" if length is None else spoken(milliseconds("bound", length))
