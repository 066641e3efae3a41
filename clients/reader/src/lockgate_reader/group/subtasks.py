"""The identity of a reader, and its number, which is its subtask."""

import os
import socket
import uuid
from dataclasses import dataclass, field

from lockgate_http.calls.client import CoordinatorClient, NotRegistered

_FREE = ("lost", "finished")


def _this_run() -> str:
    return f"{socket.gethostname()[:100]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True, slots=True)
class Identity:
    """One run of one reader. `source` is the reader's name in its group, which it shares with the
    processes that read the same topics together. `run` identifies this process alone.
    """

    source: str
    run: str = field(default_factory=_this_run)


def free_subtask(client: CoordinatorClient, source: str) -> int:
    """Return the lowest subtask of `source` that no living reader has. Subtasks of lost and
    finished readers are free. Raises `Unreachable`.
    """
    try:
        readers = client.registered(source)
    except NotRegistered:
        return 0
    used = {subtask for subtask, reader in readers.items() if reader.state not in _FREE}
    return next(number for number in range(len(used) + 1) if number not in used)
