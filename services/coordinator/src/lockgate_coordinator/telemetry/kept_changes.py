"""The stored journal of each group, which operators read with `lockgate journal` or the dashboard.

The process that has made a commit writes the changes shortly afterwards, so that no report waits.
Entries are lost if the process is killed before that, but a process that is stopped writes them
first. If the store does not answer, entries wait in memory until the next change.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from lockgate_coordinator.store.base import Store, StoreUnavailable
from lockgate_coordinator.telemetry.changes import Change

MOST_WAITING = 2_000
"""The maximum number of waiting entries of all groups. Further ones are dropped and counted."""

ENTRY_SIZE = 4_096
"""The maximum number of characters in an entry. The details of a longer one are cut or left out."""

_SHOWN, _ITEMS = 200, 20  # characters of a text, items of a list, in an entry that is cut
_LAST_WORD_S = 2.0


class KeptChanges:
    """A writer of stored journals. `left_out` counts the changes that were dropped."""

    def __init__(self, store: Store) -> None:
        self.left_out = 0
        self._store = store
        self._waiting: dict[str, list[str]] = {}
        self._count = 0
        self._task: asyncio.Task[None] | None = None

    def keep(self, change: Change, by: str | None) -> None:
        """Queue the change to be written soon. If too many entries wait already, only count it in
        `left_out`. `by` is the name of the operator's token, or None.
        """
        if self._count >= MOST_WAITING:
            self.left_out += 1
            return
        self._waiting.setdefault(change.group, []).append(entry(change, by))
        self._count += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def close(self) -> None:
        """Finish the write in progress, then write the rest, for at most two seconds each."""
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
    """Return the change as a journal entry in JSON. `by` is the name of the operator's token, or
    None. If the entry exceeds `ENTRY_SIZE`, shorten its details, or leave them out.
    """
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
    """Return `value` with long strings and long lists cut, also in the values of a dict."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return value[:_SHOWN] + "…"
    if isinstance(value, Mapping):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list) and len(value) > _ITEMS:
        return [*map(shortened, value[:_ITEMS]), f"… and {len(value) - _ITEMS} more"]
    return value
