"""A gate in observe mode. It logs which batches a gate would delay, and delays none.

It does not join the group, because a reader that reports would make other queries wait.
"""

import logging
from collections.abc import Callable

from lockgate import watermark
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_http.calls.answers import NotRegistered
from lockgate_http.errors import AlignmentError
from lockgate_spark.event_times import Span
from lockgate_spark.telemetry.waits import blocked_by

log = logging.getLogger("lockgate")


class ObservedGate:
    """Counts the batches that a gate would delay. It logs the first batch that would have to wait,
    and the first one after it that would not. `ask` returns the group's present event.
    """

    def __init__(self, ask: Callable[[], WatermarkAlignmentEvent]) -> None:
        self._ask = ask
        self._batches = self._held = 0
        self._would_hold = self._failed = False

    def see(self, span: Span | None) -> None:
        """Compare a batch with the group's read limit. Errors are only logged."""
        if span is None:
            return
        try:
            event = self._ask()
        except NotRegistered:  # the group does not exist yet
            event = None
        except AlignmentError as error:
            log.log(
                logging.DEBUG if self._failed else logging.WARNING,
                "mode observe: cannot get the read limit of the group: %s",
                error,
            )
            self._failed = True
            return
        self._compare(span, event)

    def _compare(self, span: Span, event: WatermarkAlignmentEvent | None) -> None:
        holds = event is not None and span.lowest > event.max_desired_watermark
        self._batches, self._held = self._batches + 1, self._held + holds
        if holds == self._would_hold:
            return
        self._would_hold = holds
        so_far = f"({self._held} of {self._batches} batches so far)"
        if event is not None and holds:
            at = watermark.instant(event.max_desired_watermark)
            begin = watermark.instant(span.lowest)
            held = f"the batch that begins at {begin} would wait at {at}; {blocked_by(event)}"
            log.info("mode observe: %s %s", held, so_far)
        else:
            log.info(
                "mode observe: the batch that begins at %s would not wait %s", watermark.instant(span.lowest), so_far
            )
