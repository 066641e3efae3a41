"""A source reader for tests, with a script for each poll."""

from collections.abc import Callable, Sequence
from typing import Any

from lockgate.errors import CannotPause
from lockgate.flink.source.reader import AVAILABLE, InputStatus, ReaderContext, Signal
from lockgate.flink.source_output import ReaderOutput
from lockgate.flink.splits import KafkaPartitionSplit

Step = Callable[[ReaderOutput], InputStatus]


def record(split: str | None, timestamp: int, value: object = "value") -> Step:
    """One record, on the main output or a split's."""

    def step(output: ReaderOutput) -> InputStatus:
        (output if split is None else output.create_output_for_split(split)).collect(value, timestamp)
        return InputStatus.MORE_AVAILABLE

    return step


def nothing(output: ReaderOutput) -> InputStatus:
    """Nothing for now."""
    return InputStatus.NOTHING_AVAILABLE


def end(output: ReaderOutput) -> InputStatus:
    """There will be no more."""
    return InputStatus.END_OF_INPUT


class ScriptedReader:
    """Plays its script, then has nothing. Writes down all calls."""

    def __init__(self, *script: Step, can_pause: bool = True) -> None:
        self.script = list(script)
        self.calls: list[Any] = []
        self.signal = AVAILABLE
        self.unfinished: list[KafkaPartitionSplit] = []
        self._can_pause = can_pause

    def __call__(self, context: ReaderContext) -> "ScriptedReader":
        self.context = context
        return self

    def start(self) -> None:
        self.calls.append("start")

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        return self.script.pop(0)(output) if self.script else InputStatus.NOTHING_AVAILABLE

    def availability(self) -> Signal:
        return self.signal

    def add_splits(self, splits: Sequence[KafkaPartitionSplit]) -> None:
        self.calls.append(("add", [split.split_id for split in splits]))

    def notify_no_more_splits(self) -> None:
        self.calls.append("no more splits")

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        if not self._can_pause:
            raise CannotPause("this reader cannot pause single splits")
        self.calls.append(("pause", list(pause), "resume", list(resume)))

    def handle_source_event(self, event: object) -> None:
        self.calls.append(event)

    def snapshot(self, checkpoint_id: int) -> Sequence[KafkaPartitionSplit]:
        self.calls.append(("snapshot", checkpoint_id))
        return self.unfinished

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(("aborted", checkpoint_id))

    def close(self) -> None:
        self.calls.append("close")
