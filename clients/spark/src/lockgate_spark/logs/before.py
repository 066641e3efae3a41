"""Finds the event time that a source's logs had reached before the offsets at which the query
begins to read. Windows that begin at or below that time may have records that the query does not
read.

In each split, the last record before the position (the offset at which the query begins) gives that
time: no earlier record, deleted or not, is above it by more than the out-of-orderness. The thousand
offsets before the position are inspected as well, in case records are further out of order than the
user has promised.
"""

from collections.abc import Callable

from lockgate.watermark import MAX, add
from lockgate_spark.event_times import Credible
from lockgate_spark.logs.behind import AT_LEAST
from lockgate_spark.logs.crossing import Tail
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets


def highest_before(
    log: KafkaSplitLog, begins: Offsets, positions: Offsets, disorder: int, round_up: Callable[[int], int]
) -> dict[str, int | None]:
    """Return the event time (ms) that each split had reached before its position. No record before
    a position is above the highest of these times by more than `disorder` (ms).

    The time is None if the log has no credible record before the position. A split is left out if
    its last credible record lies more than `crossing.FURTHEST_BACK` offsets before the position. To
    save reads, `round_up` may replace an event time by a later one that means the same to the
    caller, such as the end of its window. `begins` has the first offset of each log.
    """
    tails = {split: Tail(position) for split, position in positions.items()}
    while open_ := {split: tail for split, tail in tails.items() if not tail.done and tail.blank > begins[split]}:
        asked = {split: max(begins[split], tail.probe()) for split, tail in open_.items()}
        ranges = {split: (at, open_[split].blank) for split, at in asked.items()}
        for split, reading in log.find(log.credible, ranges).items():
            open_[split].learn(asked[split], reading)
    found = {split: tail.last.event_time for split, tail in tails.items() if tail.last is not None}
    stretches = {split: (max(begins[split], positions[split] - AT_LEAST), positions[split]) for split in found}
    while later := _later(log, stretches, add(max(found.values(), default=MAX), disorder)):
        found |= {split: round_up(event_time) for split, event_time in later.items()}
    return {split: found.get(split) for split, tail in tails.items() if split in found or tail.blank <= begins[split]}


def _later(log: KafkaSplitLog, stretches: dict[str, tuple[int, int]], event_time: int) -> dict[str, int]:
    """Return the first event time above `event_time` (ms) in each range of offsets that has one."""
    if not stretches or event_time >= log.credible.latest:
        return {}
    readings = log.find(Credible(event_time + 1, log.credible.latest), stretches)
    return {split: reading.found.event_time for split, reading in readings.items() if reading.found is not None}
