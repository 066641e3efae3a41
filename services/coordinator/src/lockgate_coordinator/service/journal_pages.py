"""Pages of a group's journal, filtered: from the store's entries to JSON."""

import json
from dataclasses import dataclass
from typing import Any

from lockgate.watermark import iso
from lockgate.wire.fields import Json
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store.base import JournalSpan

ENTRIES_OF_A_READ = 200
"""How many entries are read from the store in one step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Which entries are wanted: above the id `after`, below `before`, of some `kinds` (empty: all)
    and one `source` (empty: all).
    """

    after: str = ""
    before: str = ""
    newest_first: bool = True
    kinds: frozenset[str] = frozenset()
    source: str = ""

    def takes(self, entry: Json) -> bool:
        """Return whether the entry is wanted."""
        of_kind = not self.kinds or entry["kind"] in self.kinds
        return of_kind and (not self.source or entry.get("source") == self.source)


async def journal_page(
    coordinator: Coordinator, group: str, question: Question, limit: int
) -> tuple[list[Json], str | None]:
    """Return the first `limit` entries that are wanted; and the last one's id, if there may be
    more. Raises `UnknownGroup`.
    """
    span, found = JournalSpan(question.after, question.before, question.newest_first), list[Json]()
    while True:
        read = await coordinator.read_journal(group, span, ENTRIES_OF_A_READ)
        for id, text in read:
            entry = _entry(id, text)
            if question.takes(entry):
                found.append(entry)
            if len(found) == limit:
                return found, id
        if len(read) < ENTRIES_OF_A_READ:
            break
        last = read[-1][0]
        span = JournalSpan(span.after, last, True) if span.newest_first else JournalSpan(last, span.before, False)
    if not found:
        await coordinator.refresh(group)
    return found, None


def _entry(id: str, text: str) -> Json:
    at, kept = int(id.partition("-")[0]), dict[str, Any](json.loads(text))
    return {"id": id, "at": at, "at_iso": iso(at), **kept}
