"""The event-time logic of a source: timestamps for its records, and watermarks generated from them
(Flink's `TimestampsAndWatermarks`).

A source writes to one *main* output, or to one output per *split*. Each output has its own
generator and its own clock. A multiplexer combines the split outputs. The result and the main
output then pass through a final filter, which lets only rising watermarks through. The rules:

1. A record is passed on before the watermark that it causes. The listener receives a watermark
   before the stream does.
2. The stream's watermark is the higher of the watermark of the main output and the combined
   watermark of the splits. (A reader uses either the main output or the split outputs.)
3. The stream is idle while both halves, main output and combined splits, are idle. Both start idle.
   A watermark that reaches a half ends its idleness, even if the final filter drops the watermark.
4. A rising watermark makes the stream active again, and so does `mark_active` on the main output.
   The stream stays idle if a split is marked active, or emits a watermark that does not rise.
5. A periodic emission has three steps: the generators of all splits emit, the splits' watermarks
   are combined once, and the generator of the main output emits.
6. The clock of a split is paused while the split is paused. All clocks are paused under back
   pressure.
"""

from collections.abc import Iterable

from lockgate.errors import InvalidValue, UnknownName, WrongState
from lockgate.flink.clocks import PausableClock, ProcessingTime, Timer
from lockgate.flink.elements import DataOutput
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.source_output import (
    GeneratingOutput,
    IdleWhenBothAre,
    ReaderOutput,
    RisingWatermarks,
    SourceOutput,
    WatermarkUpdateListener,
)
from lockgate.flink.strategy import WatermarkStrategy


class _MainOutput(GeneratingOutput):
    def __init__(
        self, logic: "TimestampsAndWatermarks", records: DataOutput, listener: WatermarkUpdateListener
    ) -> None:
        rising = RisingWatermarks(records, listener)
        main, splits = IdleWhenBothAre.pair(rising)
        strategy = logic.strategy
        super().__init__(records, main, main, strategy.assign_timestamp, strategy.create_generator(logic.main_clock))
        self._logic = logic
        self._listener = listener
        self._multiplexer = WatermarkOutputMultiplexer(splits, listener)
        self._splits: dict[str, GeneratingOutput] = {}

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        existing = self._splits.get(split_id)
        if existing is not None:
            return existing
        clock = self._logic.clock_for_split(split_id)
        self._multiplexer.register(split_id)
        strategy = self._logic.strategy
        output = GeneratingOutput(
            self.records,
            self._multiplexer.immediate(split_id),
            self._multiplexer.deferred(split_id),
            strategy.assign_timestamp,
            strategy.create_generator(clock),
        )
        self._splits[split_id] = output
        return output

    def release_output_for_split(self, split_id: str) -> None:
        self._listener.split_finished(split_id)
        self._splits.pop(split_id, None)
        self._multiplexer.unregister(split_id)
        self._logic.forget_clock(split_id)

    def emit_periodic(self) -> None:
        for output in list(self._splits.values()):
            output.emit_periodic()
        self._multiplexer.on_periodic_emit()
        super().emit_periodic()


class TimestampsAndWatermarks:
    """The event-time logic of one streaming source (Flink's `ProgressiveTimestampsAndWatermarks`).

    Watermarks are emitted periodically, every `interval_ms`, unless the interval is 0. Generators
    may also emit for each event. Raises `InvalidValue` if the interval is negative.
    """

    def __init__(self, strategy: WatermarkStrategy, time: ProcessingTime, interval_ms: int = 200) -> None:
        if interval_ms < 0:
            raise InvalidValue("auto_watermark_interval_ms", f"must be 0 (off) or more, not {interval_ms}")
        self.strategy = strategy
        self.main_clock = PausableClock(time)
        self._time = time
        self._interval_ms = interval_ms
        self._split_clocks: dict[str, PausableClock] = {}
        self._main: _MainOutput | None = None
        self._periodic: Timer | None = None
        self._back_pressured = False

    def create_main_output(self, output: DataOutput, listener: WatermarkUpdateListener) -> ReaderOutput:
        """Create the main output, which emits to `output`. A second call raises `WrongState`."""
        if self._main is not None:
            raise WrongState("there is a main output already: an event-time logic has one")
        self._main = _MainOutput(self, output, listener)
        return self._main

    def start_periodic_emission(self) -> None:
        """Start periodic emission, unless its interval is 0. Raises `WrongState` if it runs."""
        if self._periodic is not None:
            raise WrongState("periodic emission is running: stop it first")
        if self._interval_ms:
            self._periodic = self._time.repeat(self._interval_ms, lambda due: self.emit_immediately())

    def stop_periodic_emission(self) -> None:
        """End periodic emission. A second call changes nothing."""
        if self._periodic is not None:
            self._periodic.cancel()
            self._periodic = None

    def emit_immediately(self) -> None:
        """Emit the watermarks now, in the order of a periodic emission (rule 5)."""
        if self._main is not None:
            self._main.emit_periodic()

    def pause_or_resume_splits(self, pause: Iterable[str], resume: Iterable[str]) -> None:
        """Pause and resume the clocks of these splits (rule 6).

        Raises `UnknownName` if a split has no output, and `WrongState` if a clock to resume is not
        paused. No clock is changed in either case.
        """
        pausing = [self._split_clock(split_id) for split_id in pause]
        resuming = [self._split_clock(split_id) for split_id in resume]
        for clock in resuming:
            if not clock.is_paused and clock not in pausing:
                raise WrongState("a split that is not paused cannot be resumed")
        for clock in pausing:
            clock.pause()
        for clock in resuming:
            clock.resume()

    def back_pressure(self, started: bool) -> None:
        """Pause all clocks if back pressure has `started`, else resume them."""
        if started == self._back_pressured:
            return
        self._back_pressured = started
        for clock in [self.main_clock, *self._split_clocks.values()]:
            if started:
                clock.pause()
            else:
                clock.resume()

    def clock_for_split(self, split_id: str) -> PausableClock:
        """Create and return the clock of a new split. Under back pressure it starts paused."""
        clock = PausableClock(self._time)
        if self._back_pressured:
            clock.pause()
        self._split_clocks[split_id] = clock
        return clock

    def forget_clock(self, split_id: str) -> None:
        """Remove the clock of a finished split. Raises `UnknownName` if the split has no clock."""
        self._split_clock(split_id)
        del self._split_clocks[split_id]

    def _split_clock(self, split_id: str) -> PausableClock:
        clock = self._split_clocks.get(split_id)
        if clock is None:
            raise UnknownName("split", split_id, f"splits with an output are {sorted(self._split_clocks) or 'none'}")
        return clock
