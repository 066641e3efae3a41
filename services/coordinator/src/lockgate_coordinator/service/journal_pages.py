"""Pages of a group's journal, as JSON, with the entries of some kinds or of one source."""

import json
from collections.abc import Set
from dataclasses import replace
from typing import Any

from lockgate.watermark import iso
from lockgate.wire.fields import Json
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store.base import JournalSpan

ENTRIES_OF_A_READ = 200
"""The number of entries that are read from the store at a time."""


async def journal_page(
    coordinator: Coordinator,
    group: str,
    bounds: tuple[str, str, bool],
    limit: int,
    *,
    kinds: Set[str],
    source: str,
) -> tuple[list[Json], str | None]:
    """Return the first `limit` journal entries of these kinds and of this source, where empty means
    all, and the id of the last one if there may be more. `bounds` are the arguments of the
    `JournalSpan` to search. Raises `UnknownGroup`.
    """
    span, found = JournalSpan(*bounds), list[Json]()
    while True:
        read = await coordinator.store.read_journal(group, span, ENTRIES_OF_A_READ)
        for id, text in read:
            entry = _entry(id, text)
            if (not kinds or entry["kind"] in kinds) and (not source or entry.get("source") == source):
                found.append(entry)
            if len(found) == limit:
                return found, id
        if len(read) < ENTRIES_OF_A_READ:
            break
        last = read[-1][0]
        span = replace(span, before=last) if span.newest_first else replace(span, after=last)
    if not found:
        await coordinator.refresh(group)
    return found, None


def _entry(id: str, text: str) -> Json:
    at, kept = int(id.partition("-")[0]), dict[str, Any](json.loads(text))
    return {"id": id, "at": at, "at_iso": iso(at), **kept}
