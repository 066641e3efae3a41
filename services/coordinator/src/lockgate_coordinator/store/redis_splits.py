"""The split enumerators of groups in Redis, by the same scripts and marks as the groups themselves.

Each group has one state of all its enumerators, beside that of its readers, with a version and a
series of its own (`histories`). This process keeps the state that it saw last, so an answer has
what has changed since. A state that was lost is noticed by its mark, and reported once (`lost`):
other readers may still hold what it had assigned.

A commit follows a load, and not a cached state: leases of splits end by the time of the load, which
is before that of the commit, and never later.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from lockgate.enumerator.model import Enumerator
from lockgate.errors import UnknownGroup
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.base import LoadedSplits, StoreUnavailable
from lockgate_coordinator.store.connections import Connections, Script, is_no_group
from lockgate_coordinator.store.group_cache import CACHED_GROUPS, monotonic_ms
from lockgate_coordinator.store.histories import NOTHING, SERIES_KEPT, mark, parts
from lockgate_coordinator.store.reading import read_on
from lockgate_coordinator.store.records import packed
from lockgate_coordinator.store.server_clocks import ServerClocks
from lockgate_coordinator.store.split_records import Records, changed, check_head, head, unreadable

REMEMBERED_MS = 3_600_000
"""How long the names of removed records, and ended series, are kept."""

PART = " splits"
"""Names this part of a group among jumps that were made up for. No group's name has a blank."""

RECORDS_AT_ONCE = 20
CHARACTERS_AT_ONCE = 500_000


@dataclass(slots=True)
class _Seen:
    """A state as this process saw it last. `continues`: its own last commit made it. `lost`: it is
    of another history than the one seen before, and no commit has acted upon that yet.
    """

    version: int
    series: str
    records: Records
    sources: Mapping[str, Enumerator]
    continues: bool
    lost: bool = False


class RedisSplits:
    """Uses the connections and clocks of the store. `process` names this process."""

    def __init__(self, connections: Connections, clocks: ServerClocks, process: str) -> None:
        self._connections = connections
        self._clocks = clocks
        self._process = process
        self._numbers = count(1)
        self._load, self._values = (Script("since_version", step) for step in ("load", "values"))
        self._commit = Script("since_version", "with_group", "commit")
        self._seen: dict[str, _Seen] = {}
        self._in_turn = InTurn()

    async def load(self, name: str) -> LoadedSplits:
        """As the store's."""
        seen = self._seen.get(name)
        sent_ms = monotonic_ms()
        known = NOTHING if seen is None else mark(seen.version, seen.series)
        answer: Sequence[Any] = await self._run(self._load, name, [known])
        self._clocks.answered(name, int(answer[1]), sent_ms)
        if len(answer) > 2 or seen is None:
            reading = _Reading(name, seen, self._in_turn)
            answer = await read_on(reading, answer, self._values_of(name), self._since(name)) if answer[2:] else answer
            (version, series), records = parts(answer[0]), reading.records
            seen = _Seen(version, series, records, records.enumerators(), continues=False, lost=reading.lost)
            self._keep(name, seen)
        jumps = self._clocks.jumps(name, PART)
        return LoadedSplits(name, seen.version, int(answer[1]), seen.sources, seen.series, jumps, seen.lost)

    async def commit(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int) -> bool:
        """As the store's."""
        name, seen, series = loaded.name, self._seen.get(loaded.name), self._series_after(loaded)
        removed, written = await self._in_turn.work(changed(loaded.sources, sources))
        args: list[str | bytes | int] = [
            mark(loaded.version, loaded.series),
            "",
            0,
            loaded.next_version,
            head(),
            REMEMBERED_MS,
            packed(removed),
            packed(written),
            series,
            SERIES_KEPT,
            self._process,
            reserve_ms,
        ]
        wait_ms, *answer = await self._run(self._commit, name, args, [keys.state(name)])
        if wait_ms:
            await asyncio.sleep(wait_ms / 1_000)
            return False
        if answer[0] == "":
            self._seen.pop(name, None)
            raise UnknownGroup(name)
        if answer[0] != mark(loaded.next_version, series):
            return False
        self._clocks.made_up(name, loaded.jumps, PART)
        records = Records.of(name, sources)
        if seen is None or (seen.version, seen.series) == (loaded.version, loaded.series):
            self._keep(name, _Seen(loaded.next_version, series, records, sources, continues=True))
        return True

    def _series_after(self, loaded: LoadedSplits) -> str:
        """As `RedisStore` has it: the series goes on where this process's last commit made what was
        loaded, and no other commit upon it is under way.
        """
        seen = self._seen.get(loaded.name)
        if seen is not None and seen.continues:
            seen.continues = False
            if (seen.version, seen.series) == (loaded.version, loaded.series):
                return seen.series
        return f"{self._process}-s{next(self._numbers)}"

    def _keep(self, name: str, seen: _Seen) -> None:
        self._seen.pop(name, None)
        if seen.sources or seen.lost:
            self._seen[name] = seen
        if len(self._seen) > CACHED_GROUPS:
            del self._seen[next(iter(self._seen))]

    def _values_of(self, name: str) -> Any:
        async def values(fields: list[str]) -> Sequence[str | None]:
            return await self._run(self._values, name, [packed(fields)])

        return values

    def _since(self, name: str) -> Any:
        async def since(known: str) -> Sequence[Any]:
            sent_ms = monotonic_ms()
            answer = await self._run(self._load, name, [known])
            self._clocks.answered(name, int(answer[1]), sent_ms)
            return answer

        return since

    async def _run(
        self, script: Script, name: str, args: Sequence[str | bytes | int], more: Sequence[str] = ()
    ) -> list[Any]:
        try:
            answer: list[Any] = await self._connections.run(script, (*keys.of_splits(name), *more), args)
        except StoreUnavailable as error:
            if not is_no_group(error.__cause__):
                raise
            raise unreadable(name, "the keys of its splits hold something else") from error
        return answer


class _Reading:
    """The state of one group's enumerators, from the one on that was seen last."""

    def __init__(self, name: str, base: _Seen | None, in_turn: InTurn) -> None:
        self.name = name
        self._in_turn = in_turn
        self.lost = base is not None and base.lost
        self.records = Records(name) if base is None else base.records.copy()
        self._has_base = base is not None

    async def take(self, answer: Sequence[Any]) -> list[str]:
        """Take an answer of scripts/since_version.lua. Returns the fields that are missing
        in it.
        """
        _, _, head_text, fields, texts, removed, whole, lost = answer
        if head_text is not None:
            check_head(self.name, head_text)
        if whole:
            self.lost |= self._has_base and bool(lost) and answer[0] != NOTHING
            self.records = Records(self.name)
        await self.add(removed, [None] * len(removed))
        await self.add(fields[: len(texts)], texts)
        return list(fields[len(texts) :])

    async def add(self, fields: Sequence[str], texts: Sequence[str | None]) -> None:
        """Return the records of these fields; None: it is gone. Other requests are served in
        between.
        """
        characters = 0
        for number, (field, text) in enumerate(zip(fields, texts, strict=False), 1):
            await self._in_turn.work(self.records.take(field, text))
            characters += len(text or "")
            if not number % RECORDS_AT_ONCE or characters > CHARACTERS_AT_ONCE:
                characters = 0
                await asyncio.sleep(0)
