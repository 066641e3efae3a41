"""Looks for records of a batch's windows outside the batch: before the offsets at which the query
begins to read, and after the end of the batch.

A log that is out of order by at most `disorder` has no such record below the last one before the
batch, or beyond the first one after it that is `disorder` above the window's end. At least a
thousand offsets are searched, in case a log is further out of order than the user has promised.
"""

from collections.abc import Callable

from lockgate.watermark import MAX, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.crossing import Tail, search
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

AT_LEAST = 1_000  # records on each side, whatever is promised


def highest_before(
    log: KafkaSplitLog, begins: Offsets, positions: Offsets, disorder: int, round_up: Callable[[int], int]
) -> dict[str, int | None]:
    """Return the event time (ms) that each split had reached before its position. No record before
    a position is above the highest of these times by more than `disorder` (ms). The time is None if
    the log, which begins at `begins`, has no credible record before the position. A split is left
    out if its last credible record lies more than `crossing.FURTHEST_BACK` offsets before it.

    To save reads, `round_up` may replace an event time by a later one that means the same to the
    caller, such as the end of its window.
    """
    tails = {split: Tail(position, begins[split]) for split, position in positions.items()}
    search(tails, log.find)
    found = {split: tail.last.event_time for split, tail in tails.items() if tail.last is not None}
    stretches = {split: (max(begins[split], positions[split] - AT_LEAST), positions[split]) for split in found}
    while later := _later(log, stretches, add(max(found.values(), default=MAX), disorder)):
        found |= {split: round_up(event_time) for split, event_time in later.items()}
    return {split: found.get(split) for split, tail in tails.items() if split in found or tail.bound <= begins[split]}


def _later(log: KafkaSplitLog, stretches: dict[str, tuple[int, int]], event_time: int) -> dict[str, int]:
    """Return the first event time above `event_time` (ms) in each range of offsets that has one."""
    if event_time >= log.credible.latest:
        return {}
    readings = log.find(stretches, Credible(event_time + 1, log.credible.latest))
    return {split: reading.found.event_time for split, reading in readings.items() if reading.found is not None}


def out_of_order(log: KafkaSplitLog, event_time: int, cuts: Offsets, ends: Offsets, disorder: int) -> set[str]:
    """Return the splits that have a record below `event_time` (the end of the window, in ms) after
    the end of the batch, and those whose search gives up after `MOST_PASSED` records.

    `cuts` has the offset at which the batch ends in each split, and `ends` the end of each log.
    Each log is assumed to be out of order by at most `disorder` (ms).
    """
    open_ = {split: (cut, ends[split]) for split, cut in cuts.items() if cut < ends[split]}
    beyond = log.find(open_, Credible(add(event_time, disorder), MAX))
    untold = {split for split, reading in beyond.items() if reading.found is None and reading.until < ends[split]}
    upto = {split: min(cut + AT_LEAST, end) for split, (cut, end) in open_.items()}
    for split, reading in beyond.items():
        upto[split] = max(upto[split], ends[split] if reading.found is None else reading.found.offset)
    wanted = {split: (cut, upto[split]) for split, (cut, _) in open_.items() if split not in untold}
    below = log.find(wanted, Credible(0, event_time - 1))
    return untold | {
        split for split, reading in below.items() if reading.found is not None or reading.until < upto[split]
    }
