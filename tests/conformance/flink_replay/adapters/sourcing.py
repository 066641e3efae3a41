"""The event-time logic of a source."""

from typing import Any

from flink_replay.adapters.base import Adapter, Event, RecordingDataOutput
from lockgate.duration import Duration
from lockgate.flink.clocks import TimerCallback
from lockgate.flink.elements import WatermarkOutput
from lockgate.flink.generators import PunctuatedWatermarks, WatermarkGenerator
from lockgate.flink.outputs import TimestampsAndWatermarks
from lockgate.flink.source_output import ReaderOutput, SourceOutput
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MIN
from support.virtual_time import VirtualTime

PERIODIC_INTERVAL_MS = 200


class HighestSoFar(WatermarkGenerator):
    """The generator of Flink's own alignment test: per event if it rises, periodically always."""

    def __init__(self) -> None:
        self.highest = MIN

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp > self.highest:
            self.highest = timestamp
            output.emit_watermark(timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.highest)


def strategy_of(params: dict[str, Any]) -> WatermarkStrategy:
    """Return the strategy that the parameters of a trace name."""
    strategy = {
        "bounded": lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of(ms=params["delay_ms"])),
        "punctuated": lambda: WatermarkStrategy.for_generator(PunctuatedWatermarks),
        "none": WatermarkStrategy.no_watermarks,
        "max": lambda: WatermarkStrategy.for_generator(HighestSoFar),
    }[params["generator"]]()
    return strategy if params["idle_ms"] is None else strategy.with_idleness(Duration.of(ms=params["idle_ms"]))


class HandTimer:
    """A timer that the trace fires."""

    def __init__(self, callback: TimerCallback) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class HandTimers(VirtualTime):
    """Time moves, but repeating timers fire only when the trace says so."""

    def __init__(self, start_ms: int) -> None:
        super().__init__(start_ms)
        self.by_period: dict[int, HandTimer] = {}

    def repeat(self, period_ms: int, callback: TimerCallback) -> HandTimer:
        self.by_period[period_ms] = HandTimer(callback)
        return self.by_period[period_ms]

    def fire(self, period_ms: int) -> bool:
        timer = self.by_period.get(period_ms)
        if timer is None:
            return False
        if not timer.cancelled:
            timer.callback(self.now_ms())
        return True


class Callbacks:
    def __init__(self, events: list[Event]) -> None:
        self.events = events

    def update_current_effective_watermark(self, watermark: int) -> None:
        self.events.append({"cb_effective": watermark})

    def update_idle(self, idle: bool) -> None:
        self.events.append({"cb_idle": idle})

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        self.events.append({"cb_split_watermark": watermark, "split": split_id})

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        self.events.append({"cb_split_idle": idle, "split": split_id})

    def split_finished(self, split_id: str) -> None:
        self.events.append({"cb_split_finished": split_id})


class TimestampsAndWatermarksAdapter(Adapter):
    main: ReaderOutput

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.time = HandTimers(params["clock_start_ms"])
        self.logic = TimestampsAndWatermarks(strategy_of(params), self.time, PERIODIC_INTERVAL_MS)
        self.handles: dict[str | None, SourceOutput] = {}

    def do_create_main(self) -> None:
        self.main = self.logic.create_main_output(RecordingDataOutput(self.events), Callbacks(self.events))
        self.handles[None] = self.main

    def do_create_split(self, split: str) -> None:
        self.handles[split] = self.main.create_output_for_split(split)

    def do_release_split(self, split: str) -> None:
        self.main.release_output_for_split(split)

    def do_collect(self, split: str | None, value: int, ts: int) -> None:
        self.handles[split].collect(value, ts)

    def do_emit_watermark(self, split: str | None, ts: int) -> None:
        self.handles[split].emit_watermark(ts)

    def do_mark_idle(self, split: str | None) -> None:
        self.handles[split].mark_idle()

    def do_mark_active(self, split: str | None) -> None:
        self.handles[split].mark_active()

    def do_periodic(self) -> None:
        self.logic.emit_immediately()

    def do_advance(self, ms: int) -> None:
        self.time.advance(ms)

    def do_pause(self, splits: list[str]) -> None:
        self.logic.pause_or_resume_splits(splits, [])

    def do_resume(self, splits: list[str]) -> None:
        self.logic.pause_or_resume_splits([], splits)

    def do_pause_main(self) -> None:
        self.logic.main_clock.pause()

    def do_resume_main(self) -> None:
        self.logic.main_clock.resume()

    def do_backpressure_start(self) -> None:
        self.logic.back_pressure(True)

    def do_backpressure_end(self) -> None:
        self.logic.back_pressure(False)
