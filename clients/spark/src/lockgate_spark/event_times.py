"""Ranges of event time: the range that alignment considers credible, and the range of a batch."""

from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX

TIME = "__lockgate_event_time"
"""The name of the column with a batch's event times."""


@dataclass(frozen=True, slots=True)
class Credible:
    """The range of credible event times (ms), both ends included. Alignment ignores records with
    other event times, such as Kafka's -1 for a record without a timestamp.
    """

    earliest: int = 0
    latest: int = MAX

    def has(self, event_time: int) -> bool:
        return self.earliest <= event_time <= self.latest


class Span(NamedTuple):
    """The lowest and the highest credible event time of a batch, in ms."""

    lowest: int
    highest: int
