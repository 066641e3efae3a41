"""Reading a group from Redis in parts, so that no command of Redis is long.

Redis answers a state, or what has changed since one, with the names of all readers and the records
of as many as fit into one command (scripts/since_version.lua). The records of the others are read
by further commands. Commits go on meanwhile, so these may be newer than the state. Then all changes
since that state are asked for, and read in the same way, until an answer is complete. Each reader
that another commit has touched is then as in the last answer; all others are as in each state since
the first one. So the outcome is the state of the last answer.

A record that cannot be decoded makes its group unreadable, and no other group.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import msgspec

from lockgate.group.group import Group
from lockgate.group.reader import Reader, ReaderKey
from lockgate.group.readers import Readers
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.base import StoreUnavailable, UnreadableGroup
from lockgate_coordinator.store.records import GroupHead, head_from_text, reader_from_text

log = logging.getLogger("lockgate")

DECODED_AT_ONCE = 500
"""How many readers are decoded before other requests are served: some milliseconds."""

CHARACTERS_AT_ONCE = 500_000
"""How much text at most, likewise."""

REMEDY: Final = "Delete the group (`lockgate delete`), and its readers build it again; or restore Redis from a backup"


def unreadable(name: str, reason: str) -> UnreadableGroup:
    return UnreadableGroup(name, reason, REMEDY)


READINGS: Final = 20
"""How often a large state that changes meanwhile is read on."""

FIELDS_AT_ONCE: Final = 1_000


class ReadInParts(Protocol):
    """What is read in parts, and assembled."""

    name: str

    async def take(self, answer: Sequence[Any]) -> list[str]: ...

    async def add(self, fields: Sequence[str], texts: Sequence[str | None]) -> None: ...


async def read_on(
    reading: ReadInParts,
    answer: Sequence[Any],
    values: Callable[[list[str]], Awaitable[Sequence[str | None]]],
    since: Callable[[str], Awaitable[Sequence[Any]]],
) -> Sequence[Any]:
    """Read until nothing is missing, and return the last answer. `values` reads the records of
    some fields, at least of one; `since` reads what has changed since a mark.
    """
    for _ in range(READINGS):
        missing = await reading.take(answer)
        if not missing:
            return answer
        while missing:
            some = missing[:FIELDS_AT_ONCE]
            texts = await values(some)
            await reading.add(some, texts)
            missing = missing[len(texts) :]
        answer = await since(answer[0])
        if len(answer) == 2:
            return answer
    raise StoreUnavailable(f"group {reading.name!r} changes faster than it can be read: send the request again")


class ReadingGroup:
    """One group, from `base` on."""

    def __init__(self, name: str, base: Group | None) -> None:
        self.name = name
        self._base = base
        self._readers = Readers() if base is None else base.readers
        self._head: GroupHead | None = None

    async def take(self, answer: Sequence[Any]) -> list[str]:
        """Take an answer of scripts/since_version.lua. Returns the fields whose records are missing
        in it.
        """
        _, _, head, fields, texts, removed, whole, lost = answer
        if head is None and fields:
            raise unreadable(self.name, "the record of its head is missing")
        self._head = None if head is None else self._decoded_head(head)
        if whole:
            if self._base is not None and head is not None and lost:
                log.warning(
                    "group %s: Redis has lost recent changes, so this coordinator discards its cached copy", self.name
                )
            self._readers = Readers()
        elif removed:
            self._readers = self._readers.updated({self._key(field): None for field in removed})
        await self.add(fields[: len(texts)], texts)
        return list(fields[len(texts) :])

    async def add(self, fields: Sequence[str], texts: Sequence[str | None]) -> None:
        """Return the records of these fields; None: the reader is gone. Other requests are served
        in between.
        """
        some, characters = dict[ReaderKey, Reader | None](), 0
        for field, text in zip(fields, texts, strict=False):
            if len(some) >= DECODED_AT_ONCE or characters > CHARACTERS_AT_ONCE:
                self._readers, some, characters = self._readers.updated(some), {}, 0
                await asyncio.sleep(0)
            some[self._key(field)] = None if text is None else self._decoded(field, text)
            characters += len(text or "")
        if some:
            self._readers = self._readers.updated(some)

    def group(self) -> Group | None:
        """Return the group, once nothing is missing."""
        return None if self._head is None else self._head.group(self.name, self._readers)

    def _decoded_head(self, text: str) -> GroupHead:
        try:
            return head_from_text(self.name, text)
        except msgspec.MsgspecError as error:
            raise unreadable(self.name, f"the record of its head is damaged ({error})") from error

    def _decoded(self, field: str, text: str) -> Reader:
        try:
            return reader_from_text(text)
        except (msgspec.MsgspecError, ValueError) as error:
            raise unreadable(self.name, f"the record of {field[:300]!r} is damaged ({error})") from error

    def _key(self, field: str) -> ReaderKey:
        try:
            return keys.reader_key(field)
        except ValueError as error:
            raise unreadable(self.name, f"{field[:300]!r} names no reader") from error
