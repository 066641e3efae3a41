"""SIGTERM ends the iteration, so that a service closes cleanly."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Terminated:
    """Calls `stop` on SIGTERM, from `watch` to `delete`: in the main thread, and where the program
    has no handler of its own.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: Any = None

    def watch(self) -> None:
        """Begin."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._before = signal.SIG_DFL
            signal.signal(signal.SIGTERM, self._on_signal)

    def forget(self) -> None:
        """Stop watching. A second call changes nothing."""
        if self._before is not None and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self._on_signal:
                signal.signal(signal.SIGTERM, self._before)
            self._before = None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop()
