"""The files of a report: an HTML page and a JSON file on the driver's disk. Each is replaced as a
whole, at most every half minute while the query runs, and once more when the query or the process
ends. SIGTERM counts as an end, too, unless the process has its own handler for it.
"""

import atexit
import logging
import os
import re
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType

from lockgate_http.errors import ConfigurationError
from lockgate_spark.report.document import page, text
from lockgate_spark.report.findings import Findings, RunState

log = logging.getLogger("lockgate")

STEM = "lockgate-observed"
REFRESH_S = 30.0

_taken: dict[Path, str] = {}  # by path, the id of the query that writes there
_unfinished: "set[ReportFiles]" = set()
_lock = threading.RLock()


def folder_of(option: str | None) -> Path | None:
    """Return the folder that `option` names, and create it. Raises `ConfigurationError` unless it
    can be written.
    """
    if option is None:
        return None
    named = f"Alignment(report={option!r})"
    expected = "expected a folder on the driver's disk that can be written"
    if re.match(r"[A-Za-z][\w+.-]*://?", option) and not Path(option).is_dir():
        raise ConfigurationError(f"{named}: this is a URL; {expected}")
    folder = Path(option).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise ConfigurationError(f"{named}: {error.strerror}; {expected}") from None
    return folder


class ReportFiles:
    """Writes the HTML page (`path`) and the JSON file of one run, beside those of the process's
    other queries. `make` returns the findings, and `now` is a monotonic clock (s).
    """

    def __init__(
        self,
        folder: Path,
        query: str | None,
        query_id: str,
        make: Callable[[RunState], Findings],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = _place(folder, query, query_id)
        self._make, self._now = make, now
        self._written_at: float | None = None
        self._failed = False
        with _lock:
            _unfinished.add(self)

    def refresh(self) -> None:
        """Write the files if they are older than half a minute, or were not written yet."""
        if self._written_at is None or self._now() - self._written_at >= REFRESH_S:
            self.write(RunState.RUNNING)

    def write(self, state: RunState) -> None:
        """Write both files. After a state other than `RUNNING`, later calls do nothing. Errors are
        only logged, the first one as a warning.
        """
        with _lock:
            if self not in _unfinished:
                return
            self._written_at = self._now()
            if state is not RunState.RUNNING:
                _unfinished.discard(self)
            try:
                found = self._make(state)
                _replace(self.path.with_suffix(".json"), text(found))
                _replace(self.path, page(found))
            except Exception as error:
                level = logging.DEBUG if self._failed else logging.WARNING
                log.log(level, "cannot write the report to %s: %s", self.path, error)
                self._failed = True


def _place(folder: Path, query: str | None, query_id: str) -> Path:
    """Return the page's path. All but the process's first query in a folder add their own name."""
    own = re.sub(r"[^\w.-]+", "_", query) if query else query_id[:8]
    with _lock:
        paths = [folder / f"{STEM}{ending}.html" for ending in ("", f"-{own}", f"-{own}-{query_id[:8]}")]
        path = next((path for path in paths if _taken.get(path, query_id) == query_id), paths[-1])
        _taken[path] = query_id
        return path


def _replace(path: Path, content: str) -> None:
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(content, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_at_the_end() -> None:
    """Make the process write all its reports before it ends."""
    atexit.unregister(write_all)  # from an earlier run
    atexit.register(write_all)
    # By default, SIGTERM ends Python at once, without atexit. Only the main thread may handle it.
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminated)


def write_all() -> None:
    """Write the reports of all runs that have not ended, with the state `cut_off`."""
    for each in list(_unfinished):
        each.write(RunState.CUT_OFF)


def _terminated(number: int, _: FrameType | None) -> None:
    write_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
