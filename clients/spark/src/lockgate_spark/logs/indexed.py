"""The split logs of a Kafka source whose event time is in the payload.

Kafka has no look-up for such a time. So everything is found by reading a few records of all splits
at once, and kept in a sparse index of each split (`points`). To find where a log passes a time, the
search (`crossing`) begins between two points of the index, at the rate of growth between the last
two plans. It ends at two neighbouring records. So where a batch ends, no split is beyond the target
by more than its out-of-orderness.

**Bound.** After `MOST_READS` reads, a plan looks for no better target (`read_budget_spent`). Each
event time that it still needs takes at most 2 · log2(unread offsets) reads. A crossing in a log
whose event times rise evenly takes one or two.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.plan.model import Head
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

MOST_READS = 12


@dataclass
class IndexedSplitLog(KafkaSplitLog):
    """The logs of one source's splits, searched by reading records."""

    @property
    def read_budget_spent(self) -> bool:
        """Whether this plan has reached `MOST_READS`, the limit on reads of single records."""
        return self._reads >= MOST_READS

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
        """Return True, because the records in `stops` were found by reading and not by a
        look-up.
        """
        return True

    def _ask_highest(self) -> None:
        """Do nothing, because Kafka cannot look up the highest event time in payloads. The event
        time of the last record is used instead, or that of a higher record that was read.
        """
