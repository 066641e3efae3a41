"""The operator that runs a source (Flink's `SourceOperator`).

It polls a reader, assigns event times and watermarks, and obeys its coordinator. Alignment acts on
two levels, which are independent of each other:

* Each *split* that is ahead is paused in the reader (`lockgate.flink.source.pausing`).
* The *whole source* waits while the oldest sample of its own watermark is above the max desired
  watermark that the coordinator has sent.

The operating modes:

    OUTPUT_NOT_INITIALIZED ──first emit_next──► READING ◄──in line / ahead──► WAITING_FOR_ALIGNMENT
             │                                   │  │                                │
             ├──────────────stop─────────────────┘  │ the reader: END_OF_INPUT       │
             ├──────────────stop────────────────────┼────────────────────────────────┘
             ▼                                      ▼
    SOURCE_DRAINED or SOURCE_STOPPED ──emit_next──► DATA_FINISHED

While the source waits, the operator does not poll the reader and is not available. A record that
was polled already is still emitted.

At each alignment interval the operator samples its watermark and those of its splits, checks both
levels, and then reports:

* its *latest* watermark, not the oldest sample
* nothing while it has no watermark
* MAX if it is idle, and at each further call of `emit_next` once its data is finished

If the source's strategy does not ask for alignment, the operator still obeys alignment events, but
does not report.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from lockgate.errors import CannotPause, InvalidValue, WrongState
from lockgate.flink.clocks import ProcessingTime, Timer
from lockgate.flink.elements import DataOutput, RecordAttributes
from lockgate.flink.outputs import TimestampsAndWatermarks
from lockgate.flink.source.checkpoint import read_splits, write_splits
from lockgate.flink.source.operator_events import (
    AddSplitEvent,
    IsProcessingBacklogEvent,
    NoMoreSplitsEvent,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SourceEventWrapper,
    SourceSplit,
    SplitSerializer,
    ToCoordinator,
    WatermarkAlignmentEvent,
)
from lockgate.flink.source.pausing import PauseOrResume, SplitAlignment, WatermarkSampler
from lockgate.flink.source.reader import AVAILABLE, DataInputStatus, InputStatus, ReaderContext, Signal, SourceReader
from lockgate.flink.source_output import ReaderOutput
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX, MIN

S = TypeVar("S", bound=SourceSplit)


class OperatingMode(Enum):
    """The mode of a source operator, which decides what `emit_next` does."""

    OUTPUT_NOT_INITIALIZED = "OUTPUT_NOT_INITIALIZED"
    READING = "READING"
    WAITING_FOR_ALIGNMENT = "WAITING_FOR_ALIGNMENT"
    SOURCE_DRAINED = "SOURCE_DRAINED"
    SOURCE_STOPPED = "SOURCE_STOPPED"
    DATA_FINISHED = "DATA_FINISHED"


RUNNING = (OperatingMode.OUTPUT_NOT_INITIALIZED, OperatingMode.READING, OperatingMode.WAITING_FOR_ALIGNMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """The settings of a source operator, with Flink's defaults.

    Attributes:
        auto_watermark_interval_ms: The interval of periodic watermarks, or 0 for none.
        buffer_size: The number of watermark samples kept for the source and for each split.
        allow_unaligned_splits: Keep reading if the reader cannot pause individual splits.
        subtask: The number of the operator's subtask.
        parallelism: The number of subtasks.
        host: The host on which the operator runs.
    """

    auto_watermark_interval_ms: int = 200
    buffer_size: int = 3
    allow_unaligned_splits: bool = False
    subtask: int = 0
    parallelism: int = 1
    host: str = "localhost"


class SourceOperator(Generic[S]):
    """An operator that runs the reader from `make_reader`, and sends events with `send`."""

    def __init__(
        self,
        make_reader: Callable[[ReaderContext], SourceReader[S]],
        serializer: SplitSerializer[S],
        strategy: WatermarkStrategy,
        time: ProcessingTime,
        *,
        send: Callable[[ToCoordinator], None],
        options: SourceOptions | None = None,
    ) -> None:
        self._make_reader = make_reader
        self._serializer = serializer
        self._strategy = strategy
        self._time = time
        self._send = send
        self._options = options = options or SourceOptions()
        self._reader: SourceReader[S] | None = None
        self._output: DataOutput | None = None
        self._main_output: ReaderOutput | None = None
        self._event_time = TimestampsAndWatermarks(strategy, time, options.auto_watermark_interval_ms)
        self._restored: list[S] = []
        self._reports: Timer | None = None
        self._waiting = AVAILABLE
        self._wake_up = Signal()
        self._asked: Signal | None = None
        self.splits = SplitAlignment(options.buffer_size)
        self.watermark = WatermarkSampler(options.buffer_size)
        self.mode = OperatingMode.OUTPUT_NOT_INITIALIZED
        self.max_desired_watermark = MAX
        self.idle = False
        self.finished = Signal()

    # -- life --

    def restore(self, state: Sequence[bytes]) -> None:
        """Restore a snapshot's splits. Raises `UnreadableBytes`, or `WrongState` after `open`."""
        if self._reader is not None:
            raise WrongState("the operator is open: restore() comes before open()")
        self._restored = read_splits(state, self._serializer)

    def open(self) -> None:
        """Create the reader, give it the restored splits, register it, and start it."""
        options = self._options
        reader = self._make_reader(ReaderContext(options.subtask, options.parallelism, options.host, self._send))
        self._reader = reader
        if self._restored:
            self._add_splits(self._restored)
        self._send(ReaderRegistrationEvent(options.subtask, options.host))
        reader.start()
        self._event_time.start_periodic_emission()

    def stop(self, *, drain: bool) -> Signal:
        """Stop polling the reader, and return a signal that is set when the operator has finished.

        The next `emit_next` returns STOPPED or, if `drain` is true, END_OF_DATA, after which the
        task raises event time downstream to MAX.
        """
        if self.mode in RUNNING:
            self.mode = OperatingMode.SOURCE_DRAINED if drain else OperatingMode.SOURCE_STOPPED
            self._wake_up.set()
            if not drain:
                self.finish()
        return self.finished

    def finish(self) -> None:
        """End the operator after all data has been processed, and set `finished`."""
        self._event_time.stop_periodic_emission()
        self.finished.set()

    def close(self) -> None:
        """Release all resources, also after a failure."""
        self._event_time.stop_periodic_emission()
        # Until here a source that has ended goes on reporting MAX, so that it limits no other
        # source.
        if self._reports is not None:
            self._reports.cancel()
        if self._reader is not None:
            self._reader.close()

    def snapshot(self, checkpoint_id: int) -> tuple[bytes, ...]:
        """Return the reader's unfinished splits, serialised. Raises `WrongState` before `open`."""
        return write_splits(self._opened.snapshot(checkpoint_id), self._serializer)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._opened.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._opened.notify_checkpoint_aborted(checkpoint_id)

    # -- data --

    def emit_next(self, output: DataOutput) -> DataInputStatus:
        """Poll the reader if the mode allows it, and return the status for the task. Raises
        `WrongState` before `open`, or if `output` differs from that of earlier calls.
        """
        if self._output not in (None, output) and self.mode is not OperatingMode.DATA_FINISHED:
            raise WrongState("a source operator writes to one output: this is another one")
        if self.mode is OperatingMode.OUTPUT_NOT_INITIALIZED:
            self._initialise(output)
        if self.mode is OperatingMode.READING:
            return self._read()
        if self.mode is OperatingMode.WAITING_FOR_ALIGNMENT:
            return DataInputStatus.NOTHING_AVAILABLE
        if self.mode is OperatingMode.DATA_FINISHED:
            if self._strategy.alignment.enabled:
                self.watermark.latest = MAX
                self._sample_and_report()
            return DataInputStatus.END_OF_INPUT
        drained = self.mode is OperatingMode.SOURCE_DRAINED
        self.mode = OperatingMode.DATA_FINISHED
        return DataInputStatus.END_OF_DATA if drained else DataInputStatus.STOPPED

    def availability(self) -> Signal:
        """Return a signal that is set when `emit_next` has something to do. It has the
        `ask_again_ms` of the reader's signal. Raises `WrongState` before `open`.
        """
        if self.mode is OperatingMode.WAITING_FOR_ALIGNMENT:
            return self._or_woken(self._waiting)
        if self.mode in RUNNING:
            return self._or_woken(self._opened.availability())
        return AVAILABLE

    def back_pressure(self, started: bool) -> None:
        """Pause the clocks of all outputs if back pressure has `started`, else resume them."""
        self._event_time.back_pressure(started)

    # -- the coordinator --

    def handle_event(self, event: object) -> None:
        """Handle an event from the coordinator.

        Raises:
            InvalidValue: The coordinator sends no events of this type, or a split is already known.
            UnreadableBytes: A split cannot be decoded.
            WrongState: The event is meant for the reader, which `open` has not created yet.
            CannotPause: The reader cannot pause individual splits, and the option
                `allow_unaligned_splits` is not set.
        """
        if isinstance(event, WatermarkAlignmentEvent):
            self.max_desired_watermark = event.max_watermark
            self.check_watermark_alignment()
            self.check_split_watermark_alignment()
        elif isinstance(event, AddSplitEvent):
            self._add_splits(event.splits(self._serializer))
        elif isinstance(event, NoMoreSplitsEvent):
            self._opened.notify_no_more_splits()
        elif isinstance(event, SourceEventWrapper):
            self._opened.handle_source_event(event.event)
        elif isinstance(event, IsProcessingBacklogEvent):
            self._event_time.emit_immediately()
            if self._output is not None:
                self._output.emit(RecordAttributes(event.backlog))
        else:
            raise InvalidValue("event", f"is none that a coordinator sends: {event!r}")

    def check_watermark_alignment(self) -> None:
        """Let the whole source wait while its oldest sample is above `max_desired_watermark`."""
        if self.mode is OperatingMode.READING and self._is_ahead():
            self.mode = OperatingMode.WAITING_FOR_ALIGNMENT
            self._waiting = Signal()
            self._event_time.main_clock.pause()
        elif self.mode is OperatingMode.WAITING_FOR_ALIGNMENT and not self._is_ahead():
            self.mode = OperatingMode.READING
            self._event_time.main_clock.resume()
            self._waiting.set()

    def check_split_watermark_alignment(self) -> None:
        """Pause splits that are ahead, and resume those that no longer are, in one call."""
        self._obey(self.splits.check(self.max_desired_watermark))

    # -- calls from the event-time logic --

    def update_current_effective_watermark(self, watermark: int) -> None:
        self.watermark.latest = watermark
        self.check_watermark_alignment()

    def update_idle(self, idle: bool) -> None:
        self.idle = idle

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        """Record the split's watermark (ms), and pause the split if its oldest sample is ahead."""
        self.splits.rose(split_id, watermark)
        self._obey(self.splits.check_pause_of(split_id, self.max_desired_watermark))

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        self.splits.set_idle(split_id, idle)
        if not idle:
            self._obey(self.splits.check_pause_of(split_id, self.max_desired_watermark))

    def split_finished(self, split_id: str) -> None:
        self.splits.finish(split_id)

    # -- within --

    @property
    def _opened(self) -> SourceReader[S]:
        if self._reader is None:
            raise WrongState("the operator has no reader yet: call open() first")
        return self._reader

    def _initialise(self, output: DataOutput) -> None:
        alignment = self._strategy.alignment
        if alignment.enabled:
            self._reports = self._time.repeat(alignment.update_interval_ms, lambda due: self._sample_and_report())
        self._output = output
        self._main_output = self._event_time.create_main_output(output, self)
        for split_id in self.splits.samplers:  # splits that came before the output
            self._main_output.create_output_for_split(split_id)
        self.mode = OperatingMode.READING

    def _read(self) -> DataInputStatus:
        assert self._main_output is not None, "no mode polls before there is an output"
        status = self._opened.poll_next(self._main_output)
        if status is InputStatus.END_OF_INPUT:
            self.mode = OperatingMode.DATA_FINISHED
            return DataInputStatus.END_OF_DATA
        return DataInputStatus[status.name]

    def _add_splits(self, splits: Sequence[S]) -> None:
        known = self.splits.samplers.keys()
        names = [split.split_id for split in splits]
        twice = sorted(name for name in set(names) if name in known or names.count(name) > 1)
        if twice:
            raise InvalidValue("splits", f"must be new to this source, but {', '.join(twice)} is there already")
        for name in names:
            self.splits.add(name)
            if self._main_output is not None:
                self._main_output.create_output_for_split(name)
        self._opened.add_splits(splits)

    def _is_ahead(self) -> bool:
        return self.watermark.oldest > self.max_desired_watermark

    def _obey(self, change: PauseOrResume) -> None:
        if not change:
            return
        try:
            self._opened.pause_or_resume_splits(change.pause, change.resume)
            self._event_time.pause_or_resume_splits(change.pause, change.resume)
        except CannotPause:
            if not self._options.allow_unaligned_splits:
                raise
        self.splits.apply(change)

    def _sample_and_report(self) -> None:
        self.watermark.sample()
        self.splits.sample()
        self.check_watermark_alignment()
        self.check_split_watermark_alignment()
        if self.watermark.latest != MIN:
            self._send(ReportedWatermarkEvent(MAX if self.idle else self.watermark.latest))

    def _or_woken(self, signal: Signal) -> Signal:
        """Return a signal that is set once `signal` is set or `stop` is called. Until then, all
        calls return the same one, so that callbacks do not pile up.
        """
        if signal.is_set:
            return AVAILABLE
        if self._wake_up.is_set:
            self._wake_up, self._asked = Signal(), None
        self._wake_up.ask_again_ms = signal.ask_again_ms
        if self._asked is not signal:
            self._asked = signal
            signal.then(self._wake_up.set)
        return self._wake_up
