"""From event times to watermarks: the generators, with and without idleness, and SQL's two
assigners.
"""

from typing import Any

from flink_replay.adapters.base import Adapter, RecordingDataOutput, RecordingWatermarkOutput
from lockgate.duration import Duration
from lockgate.errors import UnknownName
from lockgate.flink.elements import NO_TIMESTAMP, Record, WatermarkStatus
from lockgate.flink.generators import (
    AscendingTimestamps,
    BoundedOutOfOrderness,
    NoWatermarks,
    PunctuatedWatermarks,
    WatermarkGenerator,
)
from lockgate.flink.idleness import WatermarksWithIdleness
from lockgate.flink.sql.minibatch_assigner import RowtimeMiniBatchAssigner
from lockgate.flink.sql.watermark_assigner import WatermarkAssigner, bounded
from support.virtual_time import VirtualTime


class SetClock:
    """A relative clock that is set by hand, also backwards."""

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def relative_nanos(self) -> int:
        return self.nanos


def _duration(value: dict[str, int] | None) -> Duration | None:
    return None if value is None else Duration.of(**value)


def _row_time(record: Record) -> int | None:
    return None if record.value is None else record.timestamp


class GeneratorAdapter(Adapter):
    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.clock = SetClock(params["clock_start_nanos"])
        self.output = RecordingWatermarkOutput(self.events)
        self.generator: WatermarkGenerator | None = None

    def do_new(self) -> None:
        delay = _duration(self.params["delay"]) or Duration(0)
        made = {
            "bounded": lambda: BoundedOutOfOrderness(delay),
            "ascending": AscendingTimestamps,
            "none": NoWatermarks,
            "punctuated": PunctuatedWatermarks,
        }[self.params["generator"]]()
        idle = _duration(self.params["idle"])
        self.generator = made if idle is None else WatermarksWithIdleness(made, idle, self.clock)

    def do_event(self, ts: int) -> None:
        self._made().on_event(None, ts, self.output)

    def do_periodic(self) -> None:
        self._made().on_periodic_emit(self.output)

    def do_clock(self, nanos: int) -> None:
        self.clock.nanos = nanos

    def _made(self) -> WatermarkGenerator:
        if self.generator is None:  # the recorder went on with null after a constructor had thrown
            raise UnknownName("generator", self.params["generator"], "its constructor raised")
        return self.generator

    def state(self) -> Any:
        if self.generator is None:
            return None
        state: dict[str, Any] = {}
        inner = self.generator
        if isinstance(inner, WatermarksWithIdleness):
            state["is_idle_now"] = inner.is_idle_now
            state["start_of_inactivity_nanos"] = inner.timer.start_of_inactivity_nanos
            inner = inner.inner
        if isinstance(inner, BoundedOutOfOrderness):
            state["max_timestamp"] = inner.max_timestamp
        return state


class SqlWatermarkAssignerAdapter(Adapter):
    assigner: WatermarkAssigner

    def do_open(self, processing_time: int) -> None:
        self.time = VirtualTime(processing_time)
        self.assigner = WatermarkAssigner(
            bounded(self.params["delay_ms"], _row_time),
            self.time,
            interval_ms=self.params["auto_watermark_interval_ms"],
            idle_timeout_ms=self.params["idle_ms"],
        )
        self.assigner.setup(RecordingDataOutput(self.events, with_values=False))
        self.assigner.open()

    def do_element(self, ts: int | None) -> None:
        self.assigner.process(0, Record(ts, NO_TIMESTAMP if ts is None else ts))

    def do_processing_time(self, ms: int) -> None:
        self.time.jump_to(ms)

    def do_watermark(self, ts: int) -> None:
        self.assigner.process_watermark(0, ts)

    def do_status(self, status: str) -> None:
        self.assigner.process_status(0, WatermarkStatus(status))

    def do_finish(self) -> None:
        self.assigner.finish()

    def do_backpressure_start(self) -> None:
        self.assigner.back_pressure(True)

    def do_backpressure_end(self) -> None:
        self.assigner.back_pressure(False)


class SqlMiniBatchAssignerAdapter(Adapter):
    assigner: RowtimeMiniBatchAssigner

    def do_open(self) -> None:
        self.assigner = RowtimeMiniBatchAssigner(self.params["interval_ms"])
        self.assigner.setup(RecordingDataOutput(self.events))

    def do_watermark(self, ts: int) -> None:
        self.assigner.process_watermark(0, ts)

    def do_finish(self) -> None:
        self.assigner.finish()
