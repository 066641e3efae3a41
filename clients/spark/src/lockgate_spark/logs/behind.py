"""The check that a split's log is in order around the end of a batch, so that a window that ends
there is complete.

The batch contains all records before its end. If the log is out of order by at most `disorder`, no
record of the window comes after the first record that is `disorder` above the window's end. So the
log is searched from the batch's end to that record, and over at least a thousand offsets.
"""

from lockgate.plan.model import Head
from lockgate.watermark import MAX, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

AT_LEAST = 1_000  # records behind each cut, whatever is promised


def out_of_order(log: KafkaSplitLog, event_time: int, cuts: Offsets, ends: Offsets, disorder: int) -> set[str]:
    """Return the splits that have a record below `event_time` (ms) after the end of the batch. Also
    return those in which too many records would have to be read to find out.

    `cuts` has the offset at which the batch ends for each split, and `ends` the end of its log. The
    log is assumed to be out of order by at most `disorder` (ms).
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
