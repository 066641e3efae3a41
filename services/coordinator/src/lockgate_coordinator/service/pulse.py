"""The pulse: notices when this process stood still, so that no lease ends by it.

A timer beats some times a second. A beat that is late shows that the event loop was not served: it
was at work for one request, or the system had stopped the process. Whoever judges a group asks the
pulse first, and it looks at the clock itself: after a stop a judgement may come before the beat.

Reports that have waited in the sockets are read after the stop, and not at once. So the process
counts as deaf for as long again, at most `AFTERWARDS_S`. `lockgate.group.hearing` has the rule.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from time import monotonic

from lockgate.duration import spoken_s
from lockgate.group.hearing import ALWAYS, Hearing

log = logging.getLogger("lockgate")

BEAT_S = 0.1

DEAF_S = 0.5
"""A process without a beat for longer was deaf."""

AFTERWARDS_S = 1.0

SPANS_KEPT = 64


class Pulse:
    """The pulse of one event loop, in which all methods are called. `clock` is monotonic, in
    seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._beat_at: float | None = None
        self._spans = deque[tuple[float, float]](maxlen=SPANS_KEPT)
        self._timer: asyncio.TimerHandle | None = None

    def hearing(self, now_ms: int) -> Hearing:
        """When this process was deaf, in ms of a store whose time is `now_ms`. The first call
        begins to listen.
        """
        now = self._clock()
        if self._beat_at is None:
            self.beat()
        elif now - self._beat_at > DEAF_S:
            self._was_deaf(self._beat_at, now)
            self._beat_at = now
        if not self._spans:
            return ALWAYS
        return Hearing(
            tuple((_in_ms(began - now, now_ms), _in_ms(ended - now, now_ms)) for began, ended in self._spans)
        )

    def stop(self) -> None:
        """End the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def beat(self) -> None:
        """Record that the loop runs, and schedule the next beat. The timer calls this."""
        now = self._clock()
        if self._beat_at is not None and now - self._beat_at > DEAF_S:
            self._was_deaf(self._beat_at, now)
        self._beat_at = now
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(BEAT_S, self.beat)

    def _was_deaf(self, began: float, ended: float) -> None:
        log.warning("event loop stalled for %s; extending leases", spoken_s(ended - began))
        ended += min(ended - began, AFTERWARDS_S)
        while self._spans and self._spans[-1][1] >= began:
            earlier = self._spans.pop()
            began, ended = min(began, earlier[0]), max(ended, earlier[1])
        self._spans.append((began, ended))


def _in_ms(ahead_s: float, now_ms: int) -> int:
    return now_ms + round(ahead_s * 1_000)
