"""The base of the test bed's servers: a folder, a child process, and `with`."""

import shutil
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from lockgate_testbed.process import Child

S = TypeVar("S", bound="Server")


class Server(ABC):
    """A server that runs inside `with`. `stop()` or `kill()`, then `start()`, are an outage: same
    address, same data.

    Its folder, with the log, is kept when it was given; else it is a temporary one that goes with
    the server.
    """

    def __init__(self, name: str, data: Path | None) -> None:
        self.name = name
        self._temporary = data is None
        self.data = Path(tempfile.mkdtemp(prefix=f"lockgate-{name}-")) if data is None else data.resolve()
        self._child: Child | None = None

    @abstractmethod
    def _launch(self) -> Child:
        """Start the process and wait until it answers."""

    @property
    def log(self) -> Path:
        """The file of the server's output."""
        return self.data / f"{self.name}.log"

    @property
    def pid(self) -> int | None:
        """The process id, None while it is stopped or when it has ended."""
        return self._child.pid if self._child and self._child.alive else None

    def start(self) -> None:
        """Start, and return once it answers; no error if it runs already. Raises `ChildFailed` with
        the end of its log.
        """
        if self.pid is None:
            self.data.mkdir(parents=True, exist_ok=True)
            self._child = None
            self._child = self._launch()

    def stop(self) -> None:
        """Shut down in order (SIGTERM), by force after a while."""
        if self._child:
            self._child.stop()

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        if self._child:
            self._child.kill()

    def __enter__(self: S) -> S:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop for good; a temporary folder is deleted."""
        if self._temporary:
            self.kill()  # nobody will read its data again
            shutil.rmtree(self.data, ignore_errors=True)
        else:
            self.stop()
