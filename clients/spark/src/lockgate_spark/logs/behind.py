"""Checks that no record of a window comes after the batch that ends at the window's end.

Each split's log is searched from the end of the batch to the first record that is `disorder` above
the window's end. If the log is out of order by at most `disorder`, no record of the window comes
after that record. The search covers at least a thousand offsets, in case the log is further out of
order.
"""

from lockgate.watermark import MAX, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

AT_LEAST = 1_000  # records behind each cut, whatever is promised


def out_of_order(log: KafkaSplitLog, event_time: int, cuts: Offsets, ends: Offsets, disorder: int) -> set[str]:
    """Return the splits that have a record below `event_time` (the end of the window, in ms) after
    the end of the batch, and those whose search gives up after `MOST_PASSED` records.

    `cuts` has the offset at which the batch ends in each split, and `ends` the end of each log.
    Each log is assumed to be out of order by at most `disorder` (ms).
    """
    open_ = {split: (cut, ends[split]) for split, cut in cuts.items() if cut < ends[split]}
    if not open_:
        return set()
    beyond = log.find(Credible(add(event_time, disorder), MAX), open_)
    untold = {split for split, reading in beyond.items() if reading.found is None and reading.until < ends[split]}
    upto = {split: min(cut + AT_LEAST, end) for split, (cut, end) in open_.items()}
    for split, reading in beyond.items():
        upto[split] = max(upto[split], ends[split] if reading.found is None else reading.found.offset)
    wanted = {split: (cut, upto[split]) for split, (cut, _) in open_.items() if split not in untold}
    below = log.find(Credible(0, event_time - 1), wanted)
    return untold | {
        split for split, reading in below.items() if reading.found is not None or reading.until < upto[split]
    }
