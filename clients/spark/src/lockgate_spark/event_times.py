"""Ranges of event time: which event times take part in the alignment, and which a batch holds."""

from dataclasses import dataclass
from typing import NamedTuple

from lockgate.watermark import MAX

TIME = "__lockgate_event_time"
"""The column of a batch's event times."""


@dataclass(frozen=True, slots=True)
class Credible:
    """The event times (ms) that take part in the alignment: `earliest` to `latest`, both included.
    Kafka's -1 is no time.
    """

    earliest: int = 0
    latest: int = MAX

    def has(self, event_time: int) -> bool:
        """Return whether this event time takes part."""
        return self.earliest <= event_time <= self.latest


class Span(NamedTuple):
    """The event times of a batch that take part in the alignment, ms, both included."""

    lowest: int
    highest: int
