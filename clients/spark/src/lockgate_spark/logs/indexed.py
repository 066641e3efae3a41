"""The split logs of a Kafka source whose event time is in the payload.

No look-up of Kafka's knows such a time. So everything is found by reading a few records of all
splits at once, and kept in a sparse index a split (`points`); where a log passes a time is searched
between its points (`crossing`), beginning where the pace between the last two plans says. The
search ends at two neighbouring records, so that at a batch boundary no split is beyond the target
by more than its disorder; where that is 0, by nothing.

**Bound.** After `MOST_READS` reads a plan looks for no better target (`read_budget_spent`). Each
time that it must still know takes 2 · log2(unread offsets) reads at most. A crossing of an even log
takes one or two.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lockgate.plan.model import Head
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets

MOST_READS = 12


@dataclass
class IndexedSplitLog(KafkaSplitLog):
    """What one source's splits hold, by records that were read."""

    @property
    def read_budget_spent(self) -> bool:
        """Return whether a plan has read as often as it should."""
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
        """They were read."""
        return True

    def _ask_highest(self) -> None:
        """There is none for such a time: the last record's is taken, or that of a higher one that
        was met.
        """
