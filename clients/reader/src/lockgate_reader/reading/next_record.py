"""The watermark of one split, which also counts the record that is next in line.

A generator of `lockgate.flink.generators` sees each record when it has gone out. That is not
enough where nothing above the ceiling goes out: between two records lies a gap of an hour, all
splits are at its edge, and none may cross it. So the generator also sees the record that the
ceiling keeps back, once. Its watermark is then capped below that record's event time: the record
itself is still to come. So a gap is crossed, and no record is late by its own watermark.

A split that has a record to read is not idle, however long it is silent. The generator's idleness
counts only the time in which the split was read to its end (`silent`).

A record without an event time raises no watermark. In Flink, too, a split that has only such
records keeps the watermark that it began with; without idleness it then holds all others for ever.
Here it holds them until it is read to its end (`lets_go`). From then on it is idle, until a record
comes that has an event time. An empty split shows nothing at all, and is left to the strategy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lockgate.flink.clocks import PausableClock, RelativeClock
from lockgate.flink.elements import NO_TIMESTAMP, WatermarkOutput
from lockgate.flink.generators import WatermarkGenerator
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX


@dataclass(frozen=True, slots=True)
class HandedOut:
    """Records of one split that have gone out, with their event times, and the one that the ceiling
    keeps back behind them.
    """

    messages: Sequence[Any]
    times: Sequence[int]
    highest: int = NO_TIMESTAMP
    kept_back: Any = None
    kept_back_time: int | None = None


class _Capped:
    """Passes watermarks on, none above `cap`."""

    __slots__ = ("_output", "cap")

    def __init__(self) -> None:
        self._output: WatermarkOutput | None = None
        self.cap = MAX

    def to(self, output: WatermarkOutput) -> "_Capped":
        self._output = output
        return self

    def emit_watermark(self, timestamp: int) -> None:
        if self._output is not None:
            self._output.emit_watermark(min(timestamp, self.cap))

    def mark_idle(self) -> None:
        if self._output is not None:
            self._output.mark_idle()

    def mark_active(self) -> None:
        if self._output is not None:
            self._output.mark_active()


class NextRecord(WatermarkGenerator):
    """The generator of one split, or of the main output, which has none. `silent`: whether the
    split was read to its end. `lets_go`: whether it is then idle if no record had an event time.
    """

    def __init__(self, strategy: WatermarkStrategy, clock: RelativeClock) -> None:
        self._clock = PausableClock(clock)
        self._inner = strategy.create_generator(self._clock)
        self._capped = _Capped()
        self._seen: Any = None
        self.silent: Callable[[], bool] | None = None
        self.lets_go = False
        self._only_unstamped: bool | None = None  # None: no record yet
        self._let_go = False

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        """Take a `HandedOut`."""
        if not isinstance(event, HandedOut):
            self._inner.on_event(event, timestamp, output)
            return
        capped = self._capped.to(output)
        if event.messages:
            capped.cap = MAX
            self._gone(event, capped)
        if event.kept_back is not None and event.kept_back_time is not None:
            self._only_unstamped = False
            capped.cap = event.kept_back_time - 1
            self._seen = event.kept_back
            self._inner.on_event(event.kept_back, event.kept_back_time, capped)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Let the generator emit, and its idleness count if the split is silent."""
        if self.silent is not None:
            silent = self.silent()
            if silent and self._clock.is_paused:
                self._clock.resume()
            elif not silent and not self._clock.is_paused:
                self._clock.pause()
            self._let_go = bool(self.lets_go and self._only_unstamped and (self._let_go or silent))
        if self._let_go:
            output.mark_idle()
            return
        self._inner.on_periodic_emit(self._capped.to(output))

    def _gone(self, event: HandedOut, output: WatermarkOutput) -> None:
        unstamped = event.highest == NO_TIMESTAMP
        self._only_unstamped = unstamped and self._only_unstamped is not False
        if self._inner.only_highest_counts:
            if event.highest != NO_TIMESTAMP:
                self._inner.on_event(None, event.highest, output)
        else:
            for message, time in zip(event.messages, event.times, strict=True):
                if message is not self._seen and time != NO_TIMESTAMP:
                    self._inner.on_event(message, time, output)
        self._seen = None


class SplitStrategy:
    """The strategy that the source operator gets: `strategy`, with a `NextRecord` for each
    split.
    """

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._strategy = strategy
        self._made: list[NextRecord] = []

    def newest(self, count: int) -> list[NextRecord]:
        """Return the generators that were made last, in their order, once: a generator belongs to
        its split and goes with it.
        """
        newest, self._made = self._made[-count:], []
        return newest

    def strategy(self, max_drift_ms: int, update_interval_ms: int) -> WatermarkStrategy:
        """Return the operator's strategy, with alignment. Event times come with the records."""
        from lockgate.flink.strategy import AlignmentParameters

        own = WatermarkStrategy(self._make)
        return replace(own, alignment=AlignmentParameters("splits", min(max_drift_ms, MAX - 1), update_interval_ms))

    def _make(self, clock: RelativeClock) -> WatermarkGenerator:
        made = NextRecord(self._strategy, clock)
        self._made.append(made)
        return made
