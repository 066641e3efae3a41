"""How far in event time a source's logs go before the offsets at which they are read: which windows
may have begun there.

The last record before such an offset tells, for what lies before a record can be later than it by
no more than `disorder`; that holds for what was deleted, too. A thousand records of each split are
looked through in any case, whatever was promised.
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
    """By split an event time; no record before its position is later than the highest of these by
    more than `disorder` (ms). None where the log holds none before; a split in which the last one
    lies too far back is left out. `round_up`: to what a time may be rounded.
    """
    tails = {split: Tail(position) for split, position in positions.items()}
    while open_ := {split: tail for split, tail in tails.items() if not tail.done and tail.blank > begins[split]}:
        asked = {split: max(begins[split], tail.probe()) for split, tail in open_.items()}
        for split, reading in log.find(
            log.credible, {split: (at, open_[split].blank) for split, at in asked.items()}
        ).items():
            open_[split].learn(asked[split], reading)
    found = {split: tail.last.event_time for split, tail in tails.items() if tail.last is not None}
    stretches = {split: (max(begins[split], positions[split] - AT_LEAST), positions[split]) for split in found}
    while later := _later(log, stretches, add(max(found.values(), default=MAX), disorder)):
        found |= {split: round_up(event_time) for split, event_time in later.items()}
    return {split: found.get(split) for split, tail in tails.items() if split in found or tail.blank <= begins[split]}


def _later(log: KafkaSplitLog, stretches: dict[str, tuple[int, int]], event_time: int) -> dict[str, int]:
    """By split the first event time above this one in a stretch of offsets."""
    if not stretches or event_time >= log.credible.latest:
        return {}
    readings = log.find(Credible(event_time + 1, log.credible.latest), stretches)
    return {split: reading.found.event_time for split, reading in readings.items() if reading.found is not None}
