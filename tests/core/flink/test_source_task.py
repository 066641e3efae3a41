"""A source in a network, to its end."""

from lockgate.duration import Duration
from lockgate.flink.clocks import VirtualTime
from lockgate.flink.elements import Record, WatermarkStatus
from lockgate.flink.propagation.network import Network
from lockgate.flink.propagation.operators import Operator
from lockgate.flink.propagation.source_task import SourceTask
from lockgate.flink.propagation.timers import EventTimer
from lockgate.flink.source.operator import SourceOperator
from lockgate.flink.source.options import SourceOptions
from lockgate.flink.source.reader import DataInputStatus
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX
from support.readers import ScriptedReader, Step, end, nothing, record
from support.streams import Written

ASCENDING = WatermarkStrategy.for_monotonous_timestamps()


class Counted(Operator):
    """Counts records in windows of 100 ms, as SQL's TUMBLE does."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[int, int] = {}

    def process(self, index: int, record: Record) -> None:
        end_of_window = record.timestamp - record.timestamp % 100 + 99
        self.counts[end_of_window] = self.counts.get(end_of_window, 0) + 1
        self.timers.set(EventTimer(end_of_window))

    def on_event_time(self, timer: EventTimer) -> None:
        self.output.emit_record(Record(self.counts.pop(timer.timestamp), timer.timestamp))


class Job:
    """A scripted source, windows behind it, and what comes out of them."""

    def __init__(self, *script: Step, strategy: WatermarkStrategy = ASCENDING, progressive: bool = True) -> None:
        self.time, self.network, self.out = VirtualTime(1_000), Network(), Written()
        source, windows = self.network.source("source"), self.network.add("windows", Counted())
        self.network.connect([source], [windows])
        self.network.collect([windows], self.out)
        self.operator: SourceOperator[KafkaPartitionSplit] = SourceOperator(
            ScriptedReader(*script),
            KafkaPartitionSplitSerializer(),
            strategy,
            clock=self.time,
            timers=self.time,
            send=lambda event: None,
            options=SourceOptions(progressive_watermarks=progressive),
        )
        self.operator.open()
        self.task = SourceTask(self.operator, source.output)

    def run(self) -> DataInputStatus:
        status = self.task.run()
        self.network.run()
        return status


def test_windows_close_as_the_source_goes_on_and_the_rest_at_its_end() -> None:
    job = Job(record(None, 10), record(None, 20), record(None, 150), nothing, end)
    assert job.run() is DataInputStatus.NOTHING_AVAILABLE
    job.time.advance(200)
    job.network.run()
    assert job.out.all == [Record(2, 99), 149]
    assert job.run() is DataInputStatus.END_OF_INPUT
    assert job.out.all == [Record(2, 99), 149, Record(1, 199), MAX]


def test_bounded_execution_has_one_watermark_at_its_end() -> None:
    job = Job(record(None, 10), record(None, 150), end, progressive=False)
    job.run()
    assert job.out.all == [Record(1, 99), Record(1, 199), MAX]


def test_stopped_with_drain_all_windows_close_and_without_they_stay_for_the_savepoint() -> None:
    for drain, closed in ((True, [Record(1, 99), MAX]), (False, [])):
        job = Job(record(None, 10))
        job.run()
        job.operator.stop(drain=drain)
        assert job.run() is (DataInputStatus.END_OF_INPUT if drain else DataInputStatus.STOPPED)
        assert job.out.all == closed


def test_the_end_of_an_idle_source_is_not_lost() -> None:
    job = Job(record(None, 10), nothing, end, strategy=ASCENDING.with_idleness(Duration.of(ms=1)))
    job.run()
    job.time.advance(2_000)
    job.run()
    assert job.out.all == [9, WatermarkStatus.IDLE, WatermarkStatus.ACTIVE, Record(1, 99), MAX]
