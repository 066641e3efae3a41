"""The history of a process: what it sent, received and read in its groups, for `lockgate verify`.

If the environment variable LOCKGATE_HISTORY names a folder, each process appends lines of JSON to a
file of its own there. A line reaches the file before the call that wrote it returns, so a killed
process loses none. The time `t` of a line is in ms since 1970, and does not jump with the clock: it
is the wall-clock time at the start of the process plus the monotonic time since then.

If a line cannot be written, the process goes on, and the next line that can be written is a `gap`.
If the process was suspended for more than `STALLED_S`, a thread notices this and writes `stalled`.
"""

import contextlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

log = logging.getLogger("lockgate")

VARIABLE = "LOCKGATE_HISTORY"
BEAT_S, STALLED_S = 0.1, 0.5

_lock = threading.Lock()
_opened: dict[int, "History | None"] = {}


class History:
    """The thread-safe history of this process, in a new file in `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"client-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        self._file = os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._since = time.time() - time.monotonic()
        self._lock, self._missed = threading.Lock(), 0
        threading.Thread(target=self._watch, name="lockgate-history", daemon=True).start()

    def write(self, kind: str, group: str, /, **fields: Any) -> None:
        """Append a line of the given `kind` with `fields`.

        If this fails, the line is missing. A warning is logged for the first of several failures in
        a row.
        """
        text = json.dumps({"k": kind, "t": self._ms(time.monotonic()), "group": group, **fields}, separators=(",", ":"))
        with self._lock:
            gap = f'\n{{"k":"gap","t":{self._ms(time.monotonic())},"missed":{self._missed}}}\n' if self._missed else ""
            data = f"{gap}{text}\n".encode()
            with contextlib.suppress(OSError):
                if os.write(self._file, data) == len(data):
                    self._missed = 0
                    return
            if not self._missed:
                log.warning("cannot write to the history in %s, which now has a gap", VARIABLE)
            self._missed += 1

    def _ms(self, monotonic_s: float) -> int:
        return round(1000 * (self._since + monotonic_s))

    def _watch(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(BEAT_S)
            now = time.monotonic()
            if now - last > STALLED_S:
                self.write("stalled", "", since=self._ms(last))
            last = now


def record(kind: str, group: str, fields: Callable[[], Mapping[str, Any]]) -> None:
    """Append a line with the result of `fields`. Without a history, `fields` is not called."""
    history = _opened[pid] if (pid := os.getpid()) in _opened else _open(pid)
    if history is not None:
        history.write(kind, group, **fields())


def _open(pid: int) -> History | None:
    with _lock:
        if pid not in _opened:
            folder = os.environ.get(VARIABLE, "")
            try:
                _opened[pid] = History(Path(folder)) if folder else None
            except OSError as error:
                log.warning("no history is written: %s=%s: %s", VARIABLE, folder, error.strerror)
                _opened[pid] = None
        return _opened[pid]


def _unlocked() -> None:
    global _lock  # another thread of the parent may have held it
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlocked)
