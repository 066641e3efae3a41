"""A gate in mode observe: what it would hold, and nothing is held. It joins no group, for a reader
that reports holds others.
"""

import logging
from collections.abc import Callable

from lockgate import watermark
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_spark.errors import AlignmentError
from lockgate_spark.event_times import Span
from lockgate_spark.group.answers import NotRegistered
from lockgate_spark.telemetry.pauses import held_by

log = logging.getLogger("lockgate")


class ObservedGate:
    """The account of one gate. `ask`: what the group tells now. One line when a batch would be
    held, and one when the next is not.
    """

    def __init__(self, ask: Callable[[], WatermarkAlignmentEvent]) -> None:
        self._ask = ask
        self._batches = self._held = 0
        self._holds = self._failed = False

    def see(self, span: Span | None) -> None:
        """A batch passes. Raises nothing."""
        if span is None:
            return
        try:
            told = self._ask()
        except NotRegistered:  # nobody is there
            told = None
        except AlignmentError as error:
            log.log(
                logging.DEBUG if self._failed else logging.WARNING, "mode observe: the group cannot be asked: %s", error
            )
            self._failed = True
            return
        self._compare(span, told)

    def _compare(self, span: Span, told: WatermarkAlignmentEvent | None) -> None:
        holds = told is not None and span.lowest > told.max_desired_watermark
        self._batches, self._held = self._batches + 1, self._held + holds
        if holds == self._holds:
            return
        self._holds = holds
        so_far = f"({self._held} of {self._batches} batches so far)"
        if told is not None and holds:
            ceiling = watermark.iso(told.max_desired_watermark)
            held = f"the batch from {watermark.iso(span.lowest)} on would be held at {ceiling}; {held_by(told)}"
            log.info("mode observe: %s %s", held, so_far)
        else:
            log.info("mode observe: the batch from %s on would not be held %s", watermark.iso(span.lowest), so_far)
