"""A handler for SIGTERM that ends the iteration, so that a service closes cleanly."""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Terminated:
    """A handler that calls `stop` on SIGTERM, from `watch` until `forget`. It is installed only in
    the main thread, and only if the program has no handler of its own.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._before: Any = None

    def watch(self) -> None:
        """Install the handler, unless the program has its own or this is not the main thread."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._before = signal.SIG_DFL
            signal.signal(signal.SIGTERM, self._on_signal)

    def forget(self) -> None:
        """Restore the previous handler. A second call changes nothing."""
        if self._before is not None and threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGTERM) == self._on_signal:
                signal.signal(signal.SIGTERM, self._before)
            self._before = None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stop()
