"""The source operator: its life, its modes, and alignment on both levels."""

import pytest

from lockgate.duration import Duration
from lockgate.errors import CannotPause, InvalidValue, UnreadableBytes, WrongState
from lockgate.flink.elements import Record, RecordAttributes
from lockgate.flink.generators import PunctuatedWatermarks
from lockgate.flink.source.operator import OperatingMode, SourceOperator, SourceOptions
from lockgate.flink.source.operator_events import (
    AddSplitEvent,
    IsProcessingBacklogEvent,
    NoMoreSplitsEvent,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    RequestSplitEvent,
    SourceEventWrapper,
    WatermarkAlignmentEvent,
)
from lockgate.flink.source.reader import DataInputStatus, Signal
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX
from support.readers import ScriptedReader, Step, end, record
from support.streams import Written
from support.virtual_time import VirtualTime

SERIALIZER = KafkaPartitionSplitSerializer()
A, B = KafkaPartitionSplit("a", 0), KafkaPartitionSplit("b", 0)
PUNCTUATED = WatermarkStrategy.for_generator(PunctuatedWatermarks)
ALIGNED = PUNCTUATED.with_watermark_alignment("group", Duration.of(ms=100))
STARTED, NOTHING = "start", DataInputStatus.NOTHING_AVAILABLE


class Source:
    """An operator with a scripted reader; latest samples count unless said otherwise."""

    def __init__(
        self,
        *script: Step,
        strategy: WatermarkStrategy = ALIGNED,
        can_pause: bool = True,
        open_it: bool = True,
        **options: object,
    ) -> None:
        self.time = VirtualTime(1_000)
        self.out = Written()
        self.sent: list[object] = []
        self.reader = ScriptedReader(*script, can_pause=can_pause)
        self.operator: SourceOperator[KafkaPartitionSplit] = SourceOperator(
            self.reader,
            SERIALIZER,
            strategy,
            self.time,
            send=self.sent.append,
            options=SourceOptions(**{"buffer_size": 0, **options}),  # type: ignore[arg-type]
        )
        if open_it:
            self.operator.open()

    def add(self, *splits: KafkaPartitionSplit) -> None:
        self.operator.handle_event(AddSplitEvent.of(splits, SERIALIZER))

    def align(self, maximum: int) -> None:
        self.operator.handle_event(WatermarkAlignmentEvent(maximum))

    def emit(self, times: int = 1) -> DataInputStatus:
        statuses = [self.operator.emit_next(self.out) for _ in range(times)]
        return statuses[-1]

    def reports(self) -> list[int]:
        return [event.watermark for event in self.sent if isinstance(event, ReportedWatermarkEvent)]


def test_operator_registers_before_the_reader_starts() -> None:
    source = Source(open_it=False, host="here", subtask=2)
    source.operator.open()
    assert source.sent == [ReaderRegistrationEvent(2, "here")]
    source.add(A)
    source.operator.handle_event(NoMoreSplitsEvent())
    source.operator.handle_event(SourceEventWrapper("hello"))
    assert source.reader.calls == ["start", ("add", ["a-0"]), "no more splits", "hello"]


def test_a_reader_can_ask_for_splits_and_talk_to_its_enumerator() -> None:
    source = Source(host="here")
    source.reader.context.request_split()
    source.reader.context.send_source_event("done")
    assert source.sent[1:] == [RequestSplitEvent("here"), SourceEventWrapper("done")]


def test_a_split_that_is_ahead_pauses_and_goes_on_when_it_no_longer_is() -> None:
    source = Source(record("a-0", 10), record("b-0", 2))
    source.add(A, B)
    source.emit(2)
    source.align(5)
    source.align(10)
    assert source.reader.calls[2:] == [("pause", ["a-0"], "resume", []), ("pause", [], "resume", ["a-0"])]
    assert source.operator.mode is OperatingMode.READING


def test_a_source_that_is_ahead_does_not_poll_until_it_may() -> None:
    source = Source(record(None, 10), record(None, 11))
    source.emit()
    source.align(9)
    assert (source.emit(), source.operator.availability().is_set) == (NOTHING, False)
    woken: list[bool] = []
    source.operator.availability().then(lambda: woken.append(True))
    source.align(10)
    assert woken == [True]
    assert source.emit() is DataInputStatus.MORE_AVAILABLE
    assert source.out.watermarks == [10, 11]


def test_a_jump_counts_only_when_it_has_gone_through_the_samples() -> None:
    source = Source(record("a-0", 10), buffer_size=2)
    source.add(A)
    source.emit()
    source.align(5)
    assert source.operator.mode is OperatingMode.READING
    source.time.advance(1_000)
    assert source.operator.mode is OperatingMode.READING
    source.time.advance(1_000)
    assert source.operator.mode is OperatingMode.WAITING_FOR_ALIGNMENT
    assert source.reports() == [10, 10]


def test_operator_reports_each_interval_once_it_has_a_watermark() -> None:
    source = Source(lambda output: record(None, 5)(output))
    source.time.advance(3_000)
    assert source.reports() == []
    source.emit()
    source.time.advance(1_000)
    source.operator.update_idle(True)
    source.time.advance(1_000)
    assert source.reports() == [5, MAX]


def test_without_alignment_it_obeys_but_does_not_report() -> None:
    source = Source(record(None, 5), strategy=PUNCTUATED)
    source.emit()
    source.align(1)
    source.time.advance(5_000)
    assert source.operator.mode is OperatingMode.WAITING_FOR_ALIGNMENT
    assert source.reports() == []


def test_an_idle_split_is_left_alone_until_it_is_not_idle() -> None:
    source = Source(
        record("a-0", 10), lambda output: _mark(output, "mark_idle"), lambda output: _mark(output, "mark_active")
    )
    source.add(A, B)
    source.emit(2)
    source.align(5)
    assert source.reader.calls == ["start", ("add", ["a-0", "b-0"])]
    source.emit()
    assert source.reader.calls[2:] == [("pause", ["a-0"], "resume", [])]


def _mark(output: object, how: str) -> object:
    getattr(output.create_output_for_split("a-0"), how)()  # type: ignore[attr-defined]
    return NOTHING


def test_a_paused_split_that_finished_may_come_back_and_be_paused_again() -> None:
    def finish(output: object) -> object:
        output.release_output_for_split("a-0")  # type: ignore[attr-defined]
        return NOTHING

    source = Source(record("a-0", 10), finish, record("a-0", 10))
    source.add(A, B)
    source.emit()
    source.align(5)
    source.emit()
    assert source.operator.splits.paused == set()
    source.add(A)
    source.emit()
    assert source.operator.splits.paused == {"a-0"}
    source.align(20)
    assert source.reader.calls[-1] == ("pause", [], "resume", ["a-0"])


def test_reader_that_cannot_pause_fails_unless_that_is_allowed() -> None:
    for allowed in (False, True):
        source = Source(record("a-0", 10), can_pause=False, allow_unaligned_splits=allowed)
        source.add(A, B)
        source.emit()
        if allowed:
            source.align(5)
        else:
            with pytest.raises(CannotPause):
                source.align(5)
        assert source.operator.splits.paused == ({"a-0"} if allowed else set())


@pytest.mark.parametrize(
    ("drain", "mode", "said", "finished"),
    [
        (True, OperatingMode.SOURCE_DRAINED, DataInputStatus.END_OF_DATA, False),
        (False, OperatingMode.SOURCE_STOPPED, DataInputStatus.STOPPED, True),
    ],
)
def test_stopping_ends_the_wait_at_once(
    drain: bool, mode: OperatingMode, said: DataInputStatus, finished: bool
) -> None:
    source = Source(record(None, 10))
    source.emit()
    source.align(5)
    waiting = source.operator.availability()
    stopped = source.operator.stop(drain=drain)
    assert waiting.is_set
    assert (source.operator.mode, stopped.is_set) == (mode, finished)
    assert source.emit() is said
    assert source.emit() is DataInputStatus.END_OF_INPUT
    assert source.operator.availability().is_set
    source.operator.finish()
    assert stopped.is_set


def test_the_end_of_the_data_is_said_and_max_reported_from_then_on() -> None:
    source = Source(record(None, 10), end)
    assert source.emit(2) is DataInputStatus.END_OF_DATA
    assert (
        source.operator.emit_next(Written()) is DataInputStatus.END_OF_INPUT
    )  # the task may have changed its output by now
    source.time.advance(1_000)
    assert source.reports() == [MAX, MAX]
    source.operator.close()
    source.time.advance(5_000)
    assert source.reports() == [MAX, MAX]
    assert source.reader.calls[-1] == "close"


def test_reader_without_records_says_when_to_ask_again() -> None:
    source = Source(strategy=PUNCTUATED)
    source.reader.signal = Signal(ask_again_ms=1_500)
    assert source.emit() is NOTHING
    available = source.operator.availability()
    assert (available.is_set, available.ask_again_ms) == (False, 1_500)
    assert source.operator.availability() is available
    source.reader.signal.set()
    assert available.is_set
    assert source.operator.availability().is_set


def test_operator_goes_on_from_the_unfinished_splits_of_a_snapshot() -> None:
    source = Source(record("a-0", 10))
    source.reader.unfinished = [KafkaPartitionSplit("a", 0, 11), B]
    state = source.operator.snapshot(7)
    restored = Source(record("a-0", 20), open_it=False)
    restored.operator.restore(state)
    restored.operator.open()
    restored.emit()
    restored.align(5)
    assert restored.reader.calls == [("add", ["a-0", "b-0"]), "start", ("pause", ["a-0"], "resume", [])]
    assert source.reader.calls == ["start", ("snapshot", 7)]


def test_checkpoints_are_passed_on_to_the_reader() -> None:
    source = Source()
    source.operator.notify_checkpoint_complete(7)
    source.operator.notify_checkpoint_aborted(8)
    assert source.reader.calls[1:] == [("complete", 7), ("aborted", 8)]


def test_a_backlog_is_announced_after_what_is_known_of_event_time() -> None:
    source = Source(record(None, 5), strategy=WatermarkStrategy.for_monotonous_timestamps())
    source.emit()
    source.operator.handle_event(IsProcessingBacklogEvent(True))
    assert source.out.all == [Record("value", 5), 4, RecordAttributes(True)]


def test_splits_that_are_there_already_are_refused_and_none_of_them_taken() -> None:
    source = Source()
    source.add(A)
    for splits in ((B, A), (B, B)):
        with pytest.raises(InvalidValue, match=r"splits: must be new to this source, but [ab]-0 is there already"):
            source.add(*splits)
    assert set(source.operator.splits.samplers) == {"a-0"}
    assert source.reader.calls == ["start", ("add", ["a-0"])]


def test_a_call_at_the_wrong_time_is_refused() -> None:
    closed = Source(open_it=False)
    with pytest.raises(WrongState, match=r"call open\(\) first"):
        closed.operator.snapshot(1)
    closed.operator.close()
    source = Source(record(None, 1))
    source.emit()
    with pytest.raises(WrongState, match="one output"):
        source.operator.emit_next(Written())
    with pytest.raises(WrongState, match=r"restore\(\) comes before open\(\)"):
        source.operator.restore([])
    with pytest.raises(InvalidValue, match="event: is none that a coordinator sends: 'hello'"):
        source.operator.handle_event("hello")
    with pytest.raises(InvalidValue, match="buffer_size: must be 0"):
        Source(buffer_size=-1)


@pytest.mark.parametrize("entry", [b"", b"\0\0\0\0\0\0\0\5", b"\0\0\0\0\0\0\0\1ab"])
def test_a_state_that_is_not_as_long_as_it_says_is_refused(entry: bytes) -> None:
    with pytest.raises(UnreadableBytes, match="split 0"):
        Source(open_it=False).operator.restore([entry])
