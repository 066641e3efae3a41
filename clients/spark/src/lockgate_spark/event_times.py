"""Ranges of event time: the credible one, and that of a batch."""

from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX

TIME = "__lockgate_event_time"
"""The column of a batch's event times."""


@dataclass(frozen=True, slots=True)
class Credible:
    """The range of event times (ms) that alignment considers, from `earliest` to `latest`
    inclusive. Kafka's -1 is never in it.
    """

    earliest: int = 0
    latest: int = MAX

    def has(self, event_time: int) -> bool:
        """Return whether an event time is in the range."""
        return self.earliest <= event_time <= self.latest


class Span(NamedTuple):
    """The lowest and the highest credible event time of a batch, in ms."""

    lowest: int
    highest: int
