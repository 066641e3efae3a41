"""The number of a reader, its subtask, and who the reader is."""

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
    """One run of one reader. `source`: its name in the group, which it shares with the processes
    that read the same topics together. `run`: of this process alone.
    """

    source: str
    run: str = field(default_factory=_this_run)


def free_subtask(client: CoordinatorClient, source: str) -> int:
    """Return the lowest number that no living reader of the source has; one of a lost reader comes
    before a new one. Raises `Unreachable`.
    """
    try:
        readers = client.registered(source)
    except NotRegistered:
        return 0
    used = {subtask for subtask, reader in readers.items() if reader.state not in _FREE}
    return next(number for number in range(len(used) + 1) if number not in used)
