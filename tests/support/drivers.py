"""Spark applications in processes of their own (`killable_driver.py`), each with a JVM that dies
with it.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import support
from lockgate_testbed.process import Child
from support.answers import wait_for

DRIVER = Path(support.__path__[0]) / "killable_driver.py"
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # it does not live long enough for more
PATIENCE_S = 600.0  # a JVM starts, among others that do, and a whole application runs


@dataclass(frozen=True, slots=True)
class Order:
    """The sources and options of an application. `folder`: for its checkpoint, its output, and its
    log. `coordinator`: fields of `Coordinator`. `per_second`: records that its sink takes.
    `fails_at`: batches in which a task fails once.
    """

    name: str
    bootstrap: str
    topic: str
    budget: int
    folder: str
    coordinator: Mapping[str, Any] | None = None
    max_drift: str | None = None
    per_second: float | None = None
    fails_at: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Order":
        """Raises what JSON raises, and `TypeError` for other fields."""
        found = cls(**json.loads(text))
        return replace(found, fails_at=tuple(found.fails_at))

    @property
    def checkpoint(self) -> str:
        """A folder, shared by all runs of this order."""
        return str(Path(self.folder, "checkpoint"))

    @property
    def out(self) -> str:
        """The sink's folder, likewise."""
        return str(Path(self.folder, "out"))


class Driver:
    """One run of an application, in a process group of its own: Python and its JVM die together.
    `env`: further environment variables.
    """

    def __init__(self, order: Order, script: Path = DRIVER, env: Mapping[str, str] | None = None) -> None:
        self.order = order
        folder = Path(order.folder)
        folder.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(filter(None, [str(script.parent.parent), os.environ.get("PYTHONPATH")]))
        own = {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "JAVA_TOOL_OPTIONS": QUICK_START, **(env or {})}
        self._child = Child(
            order.name, [sys.executable, str(script), json.dumps(asdict(order))], folder / "driver.log", own
        )

    @property
    def said(self) -> list[str]:
        """Whole lines, so far."""
        return [line.strip() for line in self._child.output().splitlines(keepends=True) if line.endswith("\n")]

    @property
    def told(self) -> list[str]:
        """Those that are the application's own words: started, begins N, wrote N, finished."""
        return [line for line in self.said if line.split(" ")[0] in ("started", "begins", "fails", "wrote", "finished")]

    @property
    def runs(self) -> bool:
        return self._child.alive

    def read_until(self, line: str, timeout_s: float = PATIENCE_S) -> None:
        self._await(lambda: line in self.said, repr(line), timeout_s)

    def await_line(self, start: str, timeout_s: float = PATIENCE_S) -> None:
        """Until it has said a line that begins so."""
        self._await(lambda: any(line.startswith(start) for line in self.said), f"a line {start!r}", timeout_s)

    def read_lines(self, count: int, timeout_s: float = PATIENCE_S) -> None:
        """Waits until it has printed so many lines, or has finished."""
        self._await(lambda: len(self.told) >= count or "finished" in self.told, f"line {count}", timeout_s)

    def finish(self, timeout_s: float = PATIENCE_S) -> "Driver":
        self.read_until("finished", timeout_s)
        wait_for(lambda: not self.runs)
        return self

    def fail(self, timeout_s: float = PATIENCE_S) -> str:
        """Until it has ended with an error; all that it said."""
        wait_for(lambda: not self.runs, timeout_s)
        assert "finished" not in self.said
        return "\n".join(self.said)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._child.kill()

    def signal(self, number: int) -> None:
        """Send a signal to Python and its JVM, if they run."""
        if self.runs:
            os.killpg(self._child.pid, number)

    def _await(self, holds: Any, what: str, timeout_s: float) -> None:
        wait_for(lambda: holds() or not self.runs, timeout_s)
        assert holds(), f"{self.order.name} ended before {what}:\n" + "\n".join(self.said[-25:])
