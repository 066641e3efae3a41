"""The watermark of one partition, by the user's strategy and by what Kafka says of its end.

**The next record counts.** A generator of `lockgate.flink.generators` gets each record once it has
been returned. That alone would never cross a gap: if all partitions are at the edge of an empty
hour, nothing behind it may be returned. So the generator also gets the first record above the read
limit, once, while it waits. Its watermark is then capped below that record, which is still to
come.

**Silence is no proof.** A partition is silent only while Kafka confirms that it was read to its end
(`ends`). Its next record is then at most `idle_timeout` old: a silent partition's watermark follows
the clock at that distance. So a strategy's idle timeout never makes records late.

Without an idle timeout, the others wait for a silent partition, as in Flink. One case differs: if
none of its records has had an event time, nobody waits for it from its end on, until one has.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX, MIN


class MonotonicClock:
    """The machine's clock, for generators that measure time."""

    def relative_nanos(self) -> int:
        """Return the time in nanoseconds since an arbitrary start."""
        return time.monotonic_ns()


class SplitWatermark:
    """The receiver of one generator's watermarks. `value` rises only; it is MIN before the first
    one. Nobody waits for the partition while `idle`.
    """

    __slots__ = ("_cap", "_generator", "_next", "_stamped", "idle", "value")

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._generator = replace(strategy, idle_timeout=None).create_generator(MonotonicClock())
        self.value, self.idle = MIN, False
        self._cap = MAX
        self._next: Any = None
        self._stamped: bool | None = None  # None: no record yet

    # -- what goes in --

    def returned(self, messages: Sequence[Any], times: Sequence[int], highest: int) -> None:
        """Take records that were returned, with their event times and the highest of these."""
        self._cap = MAX
        if highest == NO_TIMESTAMP:
            self._stamped = bool(self._stamped)
        elif self._generator.only_highest_counts:
            self._counts()
            self._generator.on_event(None, highest, self)
        else:
            self._counts()
            for message, at in zip(messages, times, strict=True):
                if message is not self._next and at != NO_TIMESTAMP:
                    self._generator.on_event(message, at, self)
        self._next = None
        self.emit()

    def waits(self, message: Any, at: int) -> None:
        """Take the next record, which is above the read limit; a second call changes nothing."""
        if message is not self._next:
            self._counts()
            self._next, self._cap = message, at - 1
            self._generator.on_event(message, at, self)
            self.emit()

    def silent(self, horizon: int | None) -> None:
        """Take Kafka's word that the partition is read to its end: its next record is above
        `horizon` (ms); None without an idle timeout.
        """
        if horizon is not None:
            self.value = max(self.value, horizon)
        elif self._stamped is False:
            self.idle = True

    def emit(self) -> None:
        """Let the generator emit, as at each interval in Flink."""
        self._generator.on_periodic_emit(self)

    def _counts(self) -> None:
        self._stamped, self.idle = True, False

    # -- what the generator says --

    def emit_watermark(self, timestamp: int) -> None:
        """Take a watermark; one that does not rise is dropped."""
        timestamp = min(timestamp, self._cap)
        if timestamp > self.value:
            self.value, self.idle = timestamp, False

    def mark_idle(self) -> None:
        """Wait for the partition no longer."""
        self.idle = True

    def mark_active(self) -> None:
        """Wait for the partition again."""
        self.idle = False
