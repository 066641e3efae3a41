"""Log lines about records that are left out of the alignment because of their event time, and about
splits whose records are further out of order than the plans allow for.
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


class RecordWarnings:
    """Logs warnings about the records of one run, once for each split and reason. `left_out` counts
    the left-out records that plans have inspected, by split.
    """

    def __init__(self, sources: Mapping[int, Source], alignment: Alignment) -> None:
        self._sources, self._alignment = sources, alignment
        self.left_out: Counter[Key] = Counter()
        self._known: Collection[Key] = ()
        self._warned: set[tuple[str, Key]] = set()
        self._logged = 0

    def warn(self, allowed: int, learned: int | None, steps: tuple[int, int]) -> None:
        """Log a warning about the first left-out record of each split, and about each split in
        which a record was older than an earlier one by more than `allowed` (ms). Log `learned`, the
        measured out-of-orderness (ms) that plans use, each time that it has more than doubled; None
        if the user has set one. `steps` says how far (ms) a batch may go beyond the lowest split
        without and with it.
        """
        self._known = [(i, split) for i, source in self._sources.items() for split in source.log.learned]
        for key in self._known:
            log_of_source = self._sources[key[0]].log
            record = log_of_source.learned[key[1]].points.first_met
            if record is not None and self._is_new("left out", key):
                log.warning(
                    "%s: the record at offset %d %s. It and others like it are left out of the alignment, but "
                    "still move Spark's own watermark. Filter them before withWatermark",
                    named(key, self._known),
                    record.offset,
                    _reason(record.event_time, log_of_source.credible.latest, self._alignment),
                )
        disorder = self.disorder()
        if learned is not None and learned > 2 * self._logged:
            self._logged = learned
            log.info(
                "%s: records are out of order by at least %s. max_out_of_orderness is not set, so the plans allow for "
                "this, and a batch reads up to %s beyond the slowest partition instead of %s",
                self._name(max(disorder, key=lambda key: disorder[key])) if disorder else "the query",
                spoken(learned),
                spoken(steps[1]),
                spoken(steps[0]),
            )
        for key, ms in disorder.items():
            if ms > allowed and self._is_new("out of order", key):
                log.warning(
                    "the records of %s are out of order by at least %s, but the plans allow for %s: rows can be "
                    "late and dropped. Set Alignment(max_out_of_orderness=…), and a watermark delay of at least "
                    "max_drift + max_out_of_orderness",
                    self._name(key),
                    spoken(ms),
                    spoken(allowed),
                )

    def disorder(self) -> dict[Key, int]:
        """Return the measured out-of-orderness (ms) of each split that has some."""
        return {
            (i, split): ms
            for i, source in self._sources.items()
            for split, learned in source.log.learned.items()
            if (ms := learned.points.disorder)
        }

    def _is_new(self, reason: str, key: Key) -> bool:
        is_new = (reason, key) not in self._warned
        self._warned.add((reason, key))
        return is_new

    def _name(self, key: Key) -> str:
        return names([key], self._known)[key]

    def sum_up(self) -> None:
        """Log the number of left-out records of each split."""
        if self.left_out:
            called = names(self.left_out, self._known)
            log.info(
                "at least this many records were left out of the alignment, by partition: %s",
                ", ".join(f"{called[key]} {n}" for key, n in sorted(self.left_out.items())),
            )


def _reason(event_time: int, latest: int, alignment: Alignment) -> str:
    if event_time < 0:
        return "has no event time"
    stamped = f"is stamped {watermark.instant(event_time)}"
    if event_time > latest:
        return f"{stamped}, more than future_bound ({bound(alignment.future_bound)}) ahead of the clock"
    return f"{stamped}, more than past_bound ({bound(alignment.past_bound)}) behind the clock"


def bound(length: Duration | None) -> str:
    """Return the bound `length` as text; "none" if `length` is None."""
    return "none" if length is None else spoken(milliseconds("bound", length))
