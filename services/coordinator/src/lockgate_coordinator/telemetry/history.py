"""The history of all turns that this process has stored, for `lockgate verify`.

Each stored turn is a line of JSON: the versions before and after it, the commands that it has
accepted, and what it has announced. The line is written before the commands are answered. So the
history contains the turn of each answer, even if the process is killed. `at` is the store's time
(ms). `t` is the time (ms) of this process, which does not jump when the machine's clock is set.

If a line cannot be written, the coordinator continues. The versions of the next line show the gap.
"""

import contextlib
import json
import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lockgate.group.commands import (
    Command,
    Done,
    Evict,
    Expire,
    Leave,
    Opened,
    Outcome,
    Progress,
    Register,
    RemoveLost,
    Renew,
    Reports,
    Taken,
)
from lockgate.group.turn import Turn
from lockgate.wire.codec import to_json
from lockgate_coordinator.listeners import TurnListener
from lockgate_coordinator.store.memory import steady_clock

log = logging.getLogger("lockgate")

_REMOVING = (Evict, Expire, Leave, RemoveLost)
_REPORTED = ("reach", "park_ms", "idle", "finished")


class TurnHistory(TurnListener):
    """A listener that appends a line for each stored turn to a new file in `folder`. `now_ms`
    returns the time (ms) for the field `t`. The default is `steady_clock`.
    """

    def __init__(self, folder: Path, now_ms: Callable[[], int] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"coordinator-{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        self._file = os.open(folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._now_ms = now_ms or steady_clock()
        self._configs: dict[str, int] = {}
        self._gap = False

    def stored(self, turn: Turn, versions: tuple[int, int], *, lost: bool) -> None:
        """Append a line for the turn."""
        group, event = turn.group, turn.event
        fields: dict[str, Any] = {
            "k": "turn",
            "t": self._now_ms(),
            "at": turn.now.ms,
            "group": turn.name,
            "was": versions[0],
            "version": versions[1],
            "new": turn.before is None,
            "lost": lost,
            "revision": event.revision,
            "watermark": event.group_watermark,
            "read_limit": event.max_desired_watermark,
            "commands": [
                accepted
                for command, outcome in zip(turn.commands, turn.outcomes, strict=True)
                for accepted in _accepted(command, outcome, turn)
            ],
        }
        if self._configs.get(turn.name) != group.config_version or turn.before is None:
            self._configs[turn.name] = group.config_version
            fields["config"] = to_json(group.config)
        self._append(fields)

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Append a line for the deletion of the group."""
        self._append({"k": "deleted", "t": self._now_ms(), "group": group})

    def _append(self, fields: Mapping[str, Any]) -> None:
        data = f"{json.dumps(fields, separators=(',', ':'))}\n".encode()
        written = 0
        with contextlib.suppress(OSError):
            written = os.write(self._file, data)
            if written < len(data):  # a full disk takes a part, which no reader of the file could decode
                os.ftruncate(self._file, os.fstat(self._file).st_size - written)
        if written < len(data) and not self._gap:
            log.warning("cannot write to the history, which now has a gap")
        self._gap = written < len(data)


def _accepted(command: Command, outcome: Outcome, turn: Turn) -> Iterator[dict[str, Any]]:
    """Yield the entries of a command in the line of its turn.

    `Reports` has one for each accepted report, and commands that remove readers have one for each
    reader. `Progress`, `Renew` and `Register` have one. Refused commands and all others have none.
    """
    if isinstance(outcome, Exception):
        return
    if isinstance(command, Reports) and isinstance(outcome, Taken):
        for index, (source, report) in enumerate(command.items):
            if index not in outcome.refusals:
                has = {name: value for name in _REPORTED if (value := getattr(report, name))}
                yield {**_of("report", source, report, turn), "watermark": report.watermark, **has}
    elif isinstance(command, Progress):
        yield _of("progress", command.source, command.event, turn)
    elif isinstance(command, Renew):
        yield _of("renew", command.source, command, turn)
    elif isinstance(command, Register) and isinstance(outcome, Opened):
        event = command.event
        yield {
            "c": "register", "source": command.source, "subtask": event.subtask, "epoch": outcome.epoch,
            "read_limit": event.ceiling,
        }  # fmt: skip
    elif isinstance(command, _REMOVING) and isinstance(outcome, Done):
        why = type(command).__name__.lower()
        yield from (
            {"c": "gone", "source": source, "subtask": subtask, "why": why} for source, subtask in outcome.removed
        )


def _of(kind: str, source: str, event: Any, turn: Turn) -> dict[str, Any]:
    """Return the fields of a command of one reader. `counts` is the reader's watermark (ms) after
    the turn, if the progress of tasks within a batch has raised it.
    """
    reader = turn.group.readers.get((source, event.subtask))
    raised = None if reader is None or not reader.attempts or reader.reported is None else reader.reported.watermark
    more = {} if raised is None else {"counts": raised}
    return {"c": kind, "source": source, "subtask": event.subtask, "epoch": event.epoch, **more}
