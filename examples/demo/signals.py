"""Ctrl-C and SIGTERM: everything that was started is stopped in order, then the program ends with
the signal's exit code.
"""

import signal
import time
from types import FrameType


class Stopped(BaseException):
    """The program is asked to end. Not an `Exception`: nothing between here and the top should take
    it for a failure.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 128 + signum


class Signals:
    """Turns the first SIGINT or SIGTERM into `Stopped`; what comes after it finds the clean-up
    under way and changes nothing.

    As long as `hold` was not called `Stopped` is raised wherever the main thread is. A signal must
    not interrupt a call to the JVM: the next call would take that call's answer for its own. So
    from `hold` on a signal is kept until `check`.
    """

    def __init__(self) -> None:
        self._received: int | None = None
        self._held = False

    def install(self) -> None:
        """Take the signals over."""
        for signum in (signal.SIGINT, signal.SIGTERM):
            signal.signal(signum, self._take)

    def hold(self) -> None:
        """From now on signals wait for `check`."""
        self._held = True
        self.check()

    def check(self) -> None:
        """Raise `Stopped` if a signal has come."""
        if self._received is not None:
            raise Stopped(self._received)

    def wait(self) -> None:
        """Return when a signal comes."""
        while self._received is None:
            time.sleep(0.2)  # a signal ends it early, and after `hold` raises nothing

    def _take(self, signum: int, _: FrameType | None) -> None:
        if self._received is None:
            self._received = signum
            if not self._held:
                raise Stopped(signum)
