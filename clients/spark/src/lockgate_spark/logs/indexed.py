"""Looks up event times in the logs of a Kafka source whose event time is in the payload.

Kafka cannot look up records by such a time. So each look-up reads a few records of all splits at
once, and keeps their event times in a sparse index of each split (`points`). The search
(`crossing`) begins between two points of the index. It ends once it has read the two neighbouring
records between which the log passes the event time. So no split is read beyond the target of a
batch by more than its out-of-orderness.

**Bound.** After `MOST_READS` reads, a plan stops the search for a higher target
(`read_budget_spent`). Each event time that it still needs takes at most 2 · log2(unread offsets)
reads, and only one or two in a log whose event times rise evenly.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from lockgate.plan.model import Head
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets


@dataclass
class IndexedSplitLog(KafkaSplitLog):
    """Looks up offsets and event times in one source's Kafka partitions, by reading records."""

    MOST_READS: ClassVar[int] = 12

    def _first_after(self, event_time: int, positions: Offsets, ends: Offsets) -> dict[str, Head]:
        found, crossings = {}, {}
        for split in self.requests.order:
            if positions[split] >= ends[split] or (first := self._head_of(split)) is None:
                continue
            if first.event_time > event_time:
                found[split] = first
            else:
                crossings[split] = self._crossing(split, event_time, positions[split], ends[split], first)
        return found | self._cross(crossings)

    def confirm(self, target: int, stops: Mapping[str, Head], ends: Offsets) -> bool:
        """Return True, because the records in `stops` were found by reading."""
        return True

    def _ask_highest(self) -> None:
        """Do nothing: Kafka cannot look up event times in payloads. Only read records count."""
