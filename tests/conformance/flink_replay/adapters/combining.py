"""Many watermarks into one: valve, multiplexer, inputs of an operator, aggregator."""

from typing import Any

from flink_replay.adapters.base import Adapter, RecordingDataOutput, RecordingWatermarkOutput
from flink_replay.adapters.sourcing import Callbacks
from lockgate.flink.combined import IndexedCombinedWatermarkStatus
from lockgate.flink.elements import WatermarkOutput, WatermarkStatus
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.valve import StatusWatermarkValve


class ValveAdapter(Adapter):
    valve: StatusWatermarkValve

    def do_new(self, channels: int) -> None:
        self.channels = channels
        self.valve = StatusWatermarkValve(channels, RecordingDataOutput(self.events))

    def do_watermark(self, ch: int, ts: int) -> None:
        self.valve.input_watermark(ch, ts)

    def do_status(self, ch: int, status: str) -> None:
        self.valve.input_status(ch, WatermarkStatus(status))

    def state(self) -> Any:
        channels = [
            {"wm": self.valve.watermark_of(ch), "idle": self.valve.is_idle(ch), "aligned": self.valve.is_aligned(ch)}
            for ch in range(self.channels)
        ]
        return {
            "last_watermark": self.valve.last_watermark,
            "last_status": self.valve.last_status.value,
            "channels": channels,
        }


class IndexedStatusAdapter(Adapter):
    combined: IndexedCombinedWatermarkStatus

    def do_new(self, inputs: int) -> None:
        self.combined = IndexedCombinedWatermarkStatus(inputs)

    def do_watermark(self, index: int, ts: int) -> None:
        self.events.append({"return": self.combined.update_watermark(index, ts)})

    def do_status(self, index: int, idle: bool) -> None:
        self.events.append({"return": self.combined.update_status(index, idle)})

    def state(self) -> Any:
        return {"combined": self.combined.watermark, "idle": self.combined.idle}


class _Listener(Callbacks):
    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        self.events.append({"listener_watermark": watermark, "id": split_id})

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        self.events.append({"listener_idle": idle, "id": split_id})


class MultiplexerAdapter(Adapter):
    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.multiplexer = WatermarkOutputMultiplexer(RecordingWatermarkOutput(self.events), _Listener(self.events))
        self.handles: dict[str, WatermarkOutput] = {}

    def do_register(self, id: str) -> None:
        self.multiplexer.register(id)

    def do_unregister(self, id: str) -> None:
        self.events.append({"return": self.multiplexer.unregister(id)})

    def do_get(self, kind: str, id: str, handle: str) -> None:
        self.handles[handle] = getattr(self.multiplexer, kind)(id)

    def do_emit(self, handle: str, ts: int) -> None:
        self.handles[handle].emit_watermark(ts)

    def do_idle(self, handle: str) -> None:
        self.handles[handle].mark_idle()

    def do_active(self, handle: str) -> None:
        self.handles[handle].mark_active()

    def do_periodic(self) -> None:
        self.multiplexer.on_periodic_emit()

    def state(self) -> Any:
        outputs = {
            name: {"wm": watermark, "idle": idle} for name, (watermark, idle) in self.multiplexer.partials().items()
        }
        return {
            "combined": self.multiplexer.combined.watermark,
            "idle": self.multiplexer.combined.idle,
            "outputs": outputs,
        }
