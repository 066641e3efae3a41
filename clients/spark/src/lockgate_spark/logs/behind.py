"""The check that no record of a window comes after the batch that ends at the window's end.

The check searches each split's log from the end of the batch. If the log is out of order by at most
`disorder`, no record of the window comes after the first record that is `disorder` above the
window's end. So the search ends at that record. It covers at least a thousand offsets, in case the
log is further out of order.
"""

from lockgate.plan.model import Head
from lockgate.watermark import MAX, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

AT_LEAST = 1_000  # records behind each cut, whatever is promised


def out_of_order(log: KafkaSplitLog, event_time: int, cuts: Offsets, ends: Offsets, disorder: int) -> set[str]:
    """Return the splits that have a record below `event_time` (the end of the window, in ms) after
    the end of the batch. A split is also returned if its search gives up after `MOST_PASSED`
    records.

    `cuts` maps each split to the offset at which its batch ends, and `ends` to the end of its log.
    Each log is assumed to be out of order by at most `disorder` (ms).
    """
    open_ = {split: (cut, ends[split]) for split, cut in cuts.items() if cut < ends[split]}
    if not open_:
        return set()
    beyond = log.find(Credible(add(event_time, disorder), MAX), open_)
    untold = {split for split, reading in beyond.items() if reading.found is None and reading.until < ends[split]}
    upto = {
        split: max(_offset(beyond[split].found, ends[split]), min(cut + AT_LEAST, end))
        for split, (cut, end) in open_.items()
    }
    wanted = {split: (cut, upto[split]) for split, (cut, _) in open_.items() if split not in untold}
    below = log.find(Credible(0, event_time - 1), wanted)
    return untold | {
        split for split, reading in below.items() if reading.found is not None or reading.until < upto[split]
    }


def _offset(found: Head | None, otherwise: int) -> int:
    return otherwise if found is None else found.offset
