"""Whether a split's log is in order across a cut: the proof that a window which ends there is
complete.

All that lies before the cut was read. What lies behind it can belong to the window only up to the
first record that is `disorder` above its end, if the log is out of order by no more than that. So
the log is looked through up to there, and a thousand records in any case.
"""

from lockgate.plan.model import Head
from lockgate.watermark import MAX, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

AT_LEAST = 1_000  # records behind each cut, whatever is promised


def out_of_order(log: KafkaSplitLog, event_time: int, cuts: Offsets, ends: Offsets, disorder: int) -> set[str]:
    """Return the splits in which a record below `event_time` (ms) was found behind the cut (offsets
    by split), or in which too much would have to be read to know.
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
