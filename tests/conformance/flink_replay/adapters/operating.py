"""The source operator, with a reader that does as the trace says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flink_replay.adapters.base import Adapter, Event, RecordingDataOutput
from flink_replay.adapters.sourcing import PERIODIC_INTERVAL_MS, HandTimers, strategy_of
from lockgate.duration import Duration
from lockgate.errors import CannotPause
from lockgate.flink.source.operator import SourceOperator, SourceOptions
from lockgate.flink.source.operator_events import (
    AddSplitEvent,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    ToCoordinator,
    WatermarkAlignmentEvent,
)
from lockgate.flink.source.reader import AVAILABLE, InputStatus, ReaderContext, Signal
from lockgate.flink.source_output import ReaderOutput

UPDATE_INTERVAL_MS = 1_000


@dataclass(frozen=True)
class NamedSplit:
    split_id: str


class _NameSerializer:
    version = 1

    def serialize(self, split: NamedSplit) -> bytes:
        return split.split_id.encode()

    def deserialize(self, version: int, data: bytes) -> NamedSplit:
        return NamedSplit(data.decode())


class _ScriptedReader:
    """Does at each poll what was scripted, if it is asked at all."""

    def __init__(self, events: list[Event], can_pause: bool) -> None:
        self.events = events
        self.can_pause = can_pause
        self.script: Callable[[ReaderOutput], InputStatus] | None = None

    def start(self) -> None: ...

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        script, self.script = self.script, None
        return InputStatus.NOTHING_AVAILABLE if script is None else script(output)

    def availability(self) -> Signal:
        return AVAILABLE

    def add_splits(self, splits: Sequence[NamedSplit]) -> None: ...

    def notify_no_more_splits(self) -> None: ...

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        self.events.append({"pause": sorted(pause), "resume": sorted(resume)})
        if not self.can_pause:
            raise CannotPause("scripted reader cannot pause")

    def handle_source_event(self, event: object) -> None: ...

    def snapshot(self, checkpoint_id: int) -> Sequence[NamedSplit]:
        return ()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def close(self) -> None: ...


class SourceOperatorAdapter(Adapter):
    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.time = HandTimers(params["clock_start_ms"])
        self.reader = _ScriptedReader(self.events, params["reader_supports_pause"])
        self.output = RecordingDataOutput(self.events)
        strategy = strategy_of(params)
        if params["alignment"]:
            strategy = strategy.with_watermark_alignment("group", Duration.of(ms=100), UPDATE_INTERVAL_MS)
        options = SourceOptions(
            auto_watermark_interval_ms=PERIODIC_INTERVAL_MS,
            buffer_size=params["buffer_size"],
            allow_unaligned_splits=params["allow_unaligned_splits"],
        )
        self.operator: SourceOperator[NamedSplit] = SourceOperator(
            self._make_reader,
            _NameSerializer(),
            strategy,
            self.time,
            send=self._sent,
            options=options,
        )

    def _make_reader(self, context: ReaderContext) -> _ScriptedReader:
        return self.reader

    def _sent(self, event: ToCoordinator) -> None:
        if isinstance(event, ReportedWatermarkEvent):
            self.events.append({"reported": event.watermark})
        elif isinstance(event, ReaderRegistrationEvent):
            self.events.append({"event": "ReaderRegistrationEvent"})

    def do_open(self) -> None:
        self.operator.open()

    def do_add_splits(self, splits: list[str]) -> None:
        self.operator.handle_event(AddSplitEvent.of([NamedSplit(name) for name in splits], _NameSerializer()))

    def do_align(self, max: int) -> None:
        self.operator.handle_event(WatermarkAlignmentEvent(max))

    def do_sample(self) -> None:
        if not self.time.fire(UPDATE_INTERVAL_MS):
            self.events.append({"note": "sampling timer not registered yet"})

    def do_periodic(self) -> None:
        self.time.fire(PERIODIC_INTERVAL_MS)

    def do_advance(self, ms: int) -> None:
        self.time.advance(ms)

    def do_stop(self, drain: bool) -> None:
        self.operator.stop(drain=drain)

    def do_backpressure_start(self) -> None:
        self.operator.back_pressure(True)

    def do_backpressure_end(self) -> None:
        self.operator.back_pressure(False)

    def do_record(self, split: str | None, value: int, ts: int) -> None:
        self._emit_next(lambda output: self._collect(output, split, value, ts))

    def do_poll_nothing(self) -> None:
        self._emit_next(lambda output: InputStatus.NOTHING_AVAILABLE)

    def do_poll_end_of_input(self) -> None:
        self._emit_next(lambda output: InputStatus.END_OF_INPUT)

    def do_mark_idle(self, split: str | None) -> None:
        self._emit_next(lambda output: self._mark(output, split, "mark_idle"))

    def do_mark_active(self, split: str | None) -> None:
        self._emit_next(lambda output: self._mark(output, split, "mark_active"))

    def do_finish_split(self, split: str) -> None:
        self._emit_next(lambda output: self._finish(output, split))

    def _collect(self, output: ReaderOutput, split: str | None, value: int, ts: int) -> InputStatus:
        (output if split is None else output.create_output_for_split(split)).collect(value, ts)
        return InputStatus.MORE_AVAILABLE

    def _mark(self, output: ReaderOutput, split: str | None, how: str) -> InputStatus:
        getattr(output if split is None else output.create_output_for_split(split), how)()
        return InputStatus.NOTHING_AVAILABLE

    def _finish(self, output: ReaderOutput, split: str) -> InputStatus:
        output.release_output_for_split(split)
        return InputStatus.MORE_AVAILABLE

    def _emit_next(self, script: Callable[[ReaderOutput], InputStatus]) -> None:
        self.reader.script = script
        status = self.operator.emit_next(self.output)
        self.events.append({"input_status": status.value, "polled": self.reader.script is None})
        self.reader.script = None

    def state(self) -> Any:
        operator = self.operator
        samplers = operator.splits.samplers
        return {
            "mode": operator.mode.value,
            "max_desired": operator.max_desired_watermark,
            "paused": sorted(operator.splits.paused),
            "idle_splits": sorted(operator.splits.idle),
            "idle": operator.idle,
            "available": operator.availability().is_set,
            "latest": operator.watermark.latest,
            "oldest": operator.watermark.oldest,
            "splits": {
                name: {"latest": sampler.latest, "oldest": sampler.oldest} for name, sampler in sorted(samplers.items())
            },
        }
