"""The reader that a source operator runs, and its signal for new records (Flink's `SourceReader`).

`poll_next` gives at most one record to the output. Its result says whether there are more records,
none for now, or none ever again. After "none for now", the operator calls `availability`, which
returns a `Signal` that the reader sets once it has a record. If the reader cannot set the signal,
the operator polls again after the signal's `ask_again_ms` (ms).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, Protocol, TypeVar

from lockgate.flink.source.operator_events import RequestSplitEvent, SourceEventWrapper, SourceSplit, ToCoordinator
from lockgate.flink.source_output import ReaderOutput


class InputStatus(Enum):
    """The result of a reader's poll."""

    MORE_AVAILABLE = "MORE_AVAILABLE"
    NOTHING_AVAILABLE = "NOTHING_AVAILABLE"
    END_OF_INPUT = "END_OF_INPUT"


class DataInputStatus(Enum):
    """The result of the operator's `emit_next`, for its task."""

    MORE_AVAILABLE = "MORE_AVAILABLE"
    NOTHING_AVAILABLE = "NOTHING_AVAILABLE"
    END_OF_DATA = "END_OF_DATA"
    STOPPED = "STOPPED"
    END_OF_INPUT = "END_OF_INPUT"


class Signal:
    """A signal that is set once, and then calls its callbacks in the order in which they were
    added. If the signal may never be set, `ask_again_ms` is the time (ms) after which to poll
    again.
    """

    __slots__ = ("_waiting", "ask_again_ms", "is_set")

    def __init__(self, *, is_set: bool = False, ask_again_ms: int | None = None) -> None:
        self.is_set = is_set
        self.ask_again_ms = ask_again_ms
        self._waiting: list[Callable[[], None]] = []

    def set(self) -> None:
        """Set the signal, and call the callbacks. A second call changes nothing."""
        self.is_set = True
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()

    def then(self, callback: Callable[[], None]) -> None:
        """Call `callback` when the signal is set, or at once if it is set already."""
        if self.is_set:
            callback()
        else:
            self._waiting.append(callback)


AVAILABLE = Signal(is_set=True)

S = TypeVar("S", bound=SourceSplit)


@dataclass(frozen=True, slots=True)
class ReaderContext:
    """The environment of a reader: the number of its subtask, the number of subtasks, the host, and
    a function that sends an event to the coordinator.
    """

    subtask: int
    parallelism: int
    host: str
    send: Callable[[ToCoordinator], None]

    def request_split(self) -> None:
        self.send(RequestSplitEvent(self.host))

    def send_source_event(self, event: object) -> None:
        """Send a source-specific event to the source's enumerator."""
        self.send(SourceEventWrapper(event))


class SourceReader(Protocol, Generic[S]):
    """The interface of a reader of splits."""

    def start(self) -> None:
        """Start the reader. The operator calls this once, after it has registered the reader."""

    def poll_next(self, output: ReaderOutput) -> InputStatus:
        """Give at most one record to `output`. Return whether to poll again now, later or never."""

    def availability(self) -> Signal:
        """Return a signal that is set when there is a record to poll. If the reader cannot set it
        later, `ask_again_ms` of the signal is the time (ms) after which to poll again.
        """

    def add_splits(self, splits: Sequence[S]) -> None: ...

    def notify_no_more_splits(self) -> None: ...

    def pause_or_resume_splits(self, pause: Sequence[str], resume: Sequence[str]) -> None:
        """Pause and resume splits by name. Raises `CannotPause` if this reader cannot do so."""

    def handle_source_event(self, event: object) -> None:
        """Handle a source-specific event from the source's enumerator."""

    def snapshot(self, checkpoint_id: int) -> Sequence[S]:
        """Return the unfinished splits, each starting at its next record."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commit the offsets of a complete checkpoint."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Handle an aborted checkpoint."""

    def close(self) -> None:
        """Release all resources. No more calls follow."""
