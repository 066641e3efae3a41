"""The journal that operators read back: the changes of a group, kept in the store.

A change is written a moment after its commit, by the process that made the commit, so no report
waits for it. A process that is killed in that moment loses the entry, but one that is asked to stop
writes what is left. While the store does not answer, entries wait until the next change.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lockgate_coordinator.store.base import StoreUnavailable
from lockgate_coordinator.telemetry.changes import Change

MOST_WAITING = 2_000
"""How many entries wait to be written, of all groups. Further ones are counted and left out."""

ENTRY_SIZE = 4_096
"""The most characters of one entry. In a longer one, long details are cut or left out."""

_SHOWN, _ITEMS = 200, 20  # characters of a text, items of a list, in an entry that is cut
_LAST_WORD_S = 2.0


class Notes(Protocol):
    """The part of a store that the journal needs."""

    async def append_journal(self, name: str, entries: Sequence[str]) -> None: ...


class KeptChanges:
    """A writer of changes to the journals of their groups. `left_out` counts those that it could
    not keep.
    """

    def __init__(self, store: Notes) -> None:
        self.left_out = 0
        self._store = store
        self._waiting: dict[str, list[str]] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    def keep(self, change: Change, by: str | None) -> None:
        """Keep a change; called on the event loop. `by` is the name of an operator's token."""
        if self._count >= MOST_WAITING:
            self.left_out += 1
            return
        self._waiting.setdefault(change.group, []).append(entry(change, by))
        self._count += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Write what is left, for two seconds at most."""
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task], timeout=_LAST_WORD_S)
        if self._waiting:
            await asyncio.wait([asyncio.ensure_future(self._write())], timeout=_LAST_WORD_S)

    async def _write(self) -> None:
        while self._waiting:
            name = next(iter(self._waiting))
            entries = self._waiting.pop(name)
            try:
                await self._store.append_journal(name, entries)
            except StoreUnavailable:
                self._waiting[name] = entries + self._waiting.get(name, [])
                return
            self._count -= len(entries)


def entry(change: Change, by: str | None) -> str:
    """Return the change as an entry of the journal, in JSON."""
    fields: dict[str, Any] = {"kind": change.kind.value}
    if change.source is not None:
        fields["source"] = change.source
    if change.subtask is not None:
        fields["subtask"] = change.subtask
    fields |= {"by": by, "reason": change.reason}
    for details in (change.details, shortened(change.details), {}):
        text = json.dumps({**fields, "details": details}, separators=(",", ":"), ensure_ascii=False)
        if len(text) <= ENTRY_SIZE:
            break
    return text


def shortened(value: object) -> object:
    """Return a detail with its long texts and lists cut."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return value[:_SHOWN] + "…"
    if isinstance(value, Mapping):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list) and len(value) > _ITEMS:
        return [*map(shortened, value[:_ITEMS]), f"… and {len(value) - _ITEMS} more"]
    return value
