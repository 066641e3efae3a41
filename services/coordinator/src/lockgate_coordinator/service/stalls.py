"""Detect stalls of the event loop, so that no lease ends because of a stall.

A timer fires every `BEAT_S` seconds. If it is late, the event loop was busy with one request, or
the system had suspended the process. The detector also checks for a stall when a turn asks it for
the time, because after a stall a turn may run before the timer.

After a stall, the process needs some time to read the reports that arrived meanwhile. So each stall
is recorded as twice as long as it was, but as at most `AFTERWARDS_S` seconds longer.
`lockgate.group.now` defines how stalls extend leases.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import monotonic

from lockgate.duration import spoken_s
from lockgate.group.now import ClockJump, Now

log = logging.getLogger("lockgate")

BEAT_S = 0.1

STALLED_S = 0.5
"""The seconds without a beat after which the event loop counts as stalled."""

AFTERWARDS_S = 1.0

SPANS_KEPT = 64


class StallDetector:
    """A detector of the stalls of one event loop. `clock` returns monotonic seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._beat_at: float | None = None
        self._spans = deque[tuple[float, float]](maxlen=SPANS_KEPT)
        self._timer: asyncio.TimerHandle | None = None

    def now(self, store_ms: int, jumps: tuple[ClockJump, ...] = ()) -> Now:
        """Return the store's time `store_ms`, with the recent stalls and the `jumps` of the store's
        clock. Both extend leases. The first call starts the timer.
        """
        now = self._clock()
        if self._beat_at is None:
            self.beat()
        elif now - self._beat_at > STALLED_S:
            self._has_stalled(self._beat_at, now)
            self._beat_at = now
        if not self._spans:
            return Now(store_ms, (), jumps)
        stalls = tuple(
            (store_ms + round((began - now) * 1_000), store_ms + round((ended - now) * 1_000))
            for began, ended in self._spans
        )
        return Now(store_ms, stalls, jumps)

    def stop(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def beat(self) -> None:
        """Record that the event loop runs, and start the timer of the next beat."""
        now = self._clock()
        if self._beat_at is not None and now - self._beat_at > STALLED_S:
            self._has_stalled(self._beat_at, now)
        self._beat_at = now
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self.beat)

    def _has_stalled(self, began: float, ended: float) -> None:
        log.warning("event loop stalled for %s; extending leases", spoken_s(ended - began))
        ended += min(ended - began, AFTERWARDS_S)
        while self._spans and self._spans[-1][1] >= began:
            earlier = self._spans.pop()
            began, ended = min(began, earlier[0]), max(ended, earlier[1])
        self._spans.append((began, ended))
