"""The reader that the source operator fetched (`lockgate.flink.source.reader`).

The operator polls a reader for records. Here the records have gone out to the program before:
`poll_next` gives the operator what has gone out since its last call, split by split. So the
operator's watermarks never run ahead of the program.
"""

from collections.abc import Callable, Sequence

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.source.reader import AVAILABLE, InputStatus, Signal
from lockgate.flink.source_output import ReaderOutput
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate_reader.reading.next_record import HandedOut
from lockgate_reader.reading.split import OpenSplit


class KafkaSplitReader:
    """A `SourceReader` of Kafka splits. `opened` is called with the splits that were added,
    `paused` with the names of those to pause and to resume. `position`: the next offset of a split,
    also while one of its fetched is going out.
    """

    def __init__(
        self,
        opened: Callable[[Sequence[KafkaPartitionSplit]], None],
        paused: Callable[[Sequence[str], Sequence[str]], None],
        source_event: Callable[[object], None],
        position: Callable[[OpenSplit], int],
    ) -> None:
        self.splits: dict[str, OpenSplit] = {}
        self.no_more_splits = False
        self.gone: list[tuple[OpenSplit, HandedOut]] = []
        self._opened, self._paused, self._source_event = opened, paused, source_event
        self._position = position
        self._output: ReaderOutput | None = None

    def start(self) -> None:
        """Nothing to begin: splits come by `add_splits`."""

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Give the operator what has gone out."""
        self._output = output
        gone, self.gone = self.gone, []
        for split, records in gone:
            if self.splits.get(split.name) is split:
                output.create_output_for_split(split.name).collect(records, records.highest)
        if self.no_more_splits and not self.splits:
            return InputStatus.END_OF_INPUT
        return InputStatus.NOTHING_AVAILABLE

    def availability(self) -> Signal:
        """Whoever polls knows already that there is something."""
        return AVAILABLE

    def add_splits(self, splits: Sequence[KafkaPartitionSplit]) -> None:
        """Open these splits."""
        self._opened(splits)

    def notify_no_more_splits(self) -> None:
        """Once all that it has are finished, the reader has ended."""
        self.no_more_splits = True

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        """Let some splits wait, and others go on."""
        self._paused(pause, resume)

    def handle_source_event(self, event: object) -> None:
        """Pass an event of the enumerator on to the program."""
        self._source_event(event)

    def snapshot(self, checkpoint_id: int) -> Sequence[KafkaPartitionSplit]:
        """Return the splits, each from its next record on."""
        return [split.rest(self._position(split)) for split in self.splits.values()]

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Do nothing; the program commits, or its transaction does."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Nothing was prepared."""

    def emit_watermark(self, split: OpenSplit, watermark: int) -> None:
        """Take the reader's own watermark for a split: nothing at or below it is still to come."""
        if self._output is not None and watermark > NO_TIMESTAMP:
            self._output.create_output_for_split(split.name).emit_watermark(watermark)

    def release(self, split: OpenSplit) -> None:
        """Release a split that is finished, or no longer this reader's."""
        del self.splits[split.name]
        if self._output is not None:
            self._output.release_output_for_split(split.name)

    def close(self) -> None:
        """Do nothing; the owner of the connections closes them."""
