"""The reader that a source operator runs, and how it says that it has nothing now (Flink's
`SourceReader`; seed 003).

`poll_next` gives at most one record to the output and says what comes: more, nothing for now, or
nothing ever. After "nothing for now" the operator asks for `availability`: a `Signal` that the
reader sets once it has something. A reader that cannot be woken (one that polls) says in
`ask_again_ms` when to try again instead.

Used by `lockgate.flink.source.operator`; implemented by whoever reads: the plain readers, and
tests.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from lockgate.flink.source.operator_events import RequestSplitEvent, SourceEventWrapper, SourceSplit, ToCoordinator
from lockgate.flink.source_output import ReaderOutput


class InputStatus(Enum):
    """What a reader says after a poll."""

    MORE_AVAILABLE = "MORE_AVAILABLE"
    NOTHING_AVAILABLE = "NOTHING_AVAILABLE"
    END_OF_INPUT = "END_OF_INPUT"


class DataInputStatus(Enum):
    """What the operator says to its task."""

    MORE_AVAILABLE = "MORE_AVAILABLE"
    NOTHING_AVAILABLE = "NOTHING_AVAILABLE"
    END_OF_DATA = "END_OF_DATA"
    STOPPED = "STOPPED"
    END_OF_INPUT = "END_OF_INPUT"


class Signal:
    """Set once; then everybody who waits is called, in the order in which they came."""

    __slots__ = ("_waiting", "ask_again_ms", "is_set")

    def __init__(self, *, is_set: bool = False, ask_again_ms: int | None = None) -> None:
        self.is_set = is_set
        self.ask_again_ms = ask_again_ms
        self._waiting: list[Callable[[], None]] = []

    def set(self) -> None:
        """It has happened. A second time changes nothing."""
        self.is_set = True
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

    def then(self, callback: Callable[[], None]) -> None:
        """`callback` when it has happened: now, if it has."""
        if self.is_set:
            callback()
        else:
            self._waiting.append(callback)


AVAILABLE = Signal(is_set=True)

S = TypeVar("S", bound=SourceSplit)


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """What a reader may know and say: its place among the subtasks, and the way to its
    coordinator.
    """

    subtask: int
    parallelism: int
    host: str
    send: Callable[[ToCoordinator], None]

    def request_split(self) -> None:
        """Ask for a split."""
        self.send(RequestSplitEvent(self.host))

    def send_source_event(self, event: object) -> None:
        """An event of the source's own, to its enumerator."""
        self.send(SourceEventWrapper(event))


class SourceReader(Protocol, Generic[S]):
    """Reads splits."""

    def start(self) -> None:
        """Called once, after registration."""

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Give at most one record to `output`."""

    def availability(self) -> Signal:
        """Set when there is something to poll; otherwise it says when to ask again, or will be
        set.
        """

    def add_splits(self, splits: Sequence[S]) -> None:
        """Read these too."""

    def notify_no_more_splits(self) -> None:
        """There will be no others."""

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        """Stop reading some splits, go on with others. Raises `CannotPause` if this reader
        cannot.
        """

    def handle_source_event(self, event: object) -> None:
        """An event of the source's own, from its enumerator."""

    def snapshot(self, checkpoint_id: int) -> Sequence[S]:
        """The splits that are not finished, each from the next record on."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint is there to stay: offsets may be committed."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """That checkpoint will not be."""

    def close(self) -> None:
        """No more calls."""
