"""Whether a split's log is in order across a cut: the proof that a window which ends there is complete.

All that lies before the cut was read. What lies behind it can belong to the window only up to the first record that is `disorder` above
its end, if the log is out of order by no more than that. So the log is looked through up to there, and a thousand records in any case.
"""

from lockgate.planner import Head
from lockgate.watermark import MAX, add
from lockgate_spark.logs.crossing import Credible
from lockgate_spark.logs.kafka import KafkaSplitLog, Offsets

AT_LEAST = 1_000  # records behind each cut, whatever is promised


def in_order(log: KafkaSplitLog, event_time: int, cuts: Offsets, ends: Offsets, disorder: int) -> bool:
    """Whether no record below `event_time` (ms) was seen behind the cuts (offsets by split); False where too much would have to be read."""
    open_ = {split: (cut, ends[split]) for split, cut in cuts.items() if cut < ends[split]}
    if not open_:
        return True
    beyond = log.find(Credible(add(event_time, disorder), MAX), open_)
    if any(reading.found is None and reading.until < ends[split] for split, reading in beyond.items()):
        return False
    upto = {split: max(_offset(beyond[split].found, ends[split]), min(cut + AT_LEAST, end)) for split, (cut, end) in open_.items()}
    below = log.find(Credible(0, event_time - 1), {split: (cut, upto[split]) for split, (cut, _) in open_.items()})
    return all(reading.found is None and reading.until >= upto[split] for split, reading in below.items())


def _offset(found: Head | None, otherwise: int) -> int:
    return otherwise if found is None else found.offset
