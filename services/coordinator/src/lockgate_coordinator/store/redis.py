"""Groups in Redis, for any number of coordinators, which agree through its versions and its clock.

Every step is one script over the keys of one group, so it is atomic, and one round trip. The cache
(`group_cache`) keeps each group as it was last seen. A commit can begin with it without
loading, and an answer of Redis holds only what has changed since. A refused commit answers what
Redis holds instead, with Redis's time. Redis may lose what it had answered; `histories` says how a
process notices.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from itertools import count
from secrets import token_hex
from typing import Any

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate.group.readers import Readers
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.addresses import Form, RedisAddress
from lockgate_coordinator.store.base import (
    CACHED_WITHIN_MS,
    JOURNAL_KEPT,
    SAMPLE_LEVELS,
    SAMPLES_KEPT_MS,
    JournalSpan,
    Loaded,
    LoadedSplits,
    NotDiscarded,
    StoreUnavailable,
    UnreadableGroup,
    finest,
)
from lockgate_coordinator.store.connections import Connections, Script, is_no_group
from lockgate_coordinator.store.group_cache import CachedGroup, GroupCache, monotonic_ms
from lockgate_coordinator.store.histories import NOTHING, SERIES_KEPT, mark, parts
from lockgate_coordinator.store.reading import ReadingGroup, read_on, unreadable
from lockgate_coordinator.store.records import head_to_text, packed, reader_to_text
from lockgate_coordinator.store.redis_splits import RedisSplits
from lockgate_coordinator.store.server_clocks import ServerClocks

log = logging.getLogger("lockgate")

REMEMBERED_MS = 3_600_000
"""How long Redis keeps the last version of a deleted group, and the names of removed readers. After
that the clock alone is above every version given out, and a process with an older cached group
reads the whole group.
"""

AHEAD_MS = 60_000
"""By how much a successor begins above a group that was deleted without being read. An epoch may be
above the group's version: a reader may register several times within one millisecond.
"""

ENCODED_AT_ONCE = 2_000
"""How many readers are encoded before other requests are served: some 7 ms."""

JOURNAL_KEPT_MS = 30 * 86_400_000
"""How long Redis keeps the journal of a group of which nothing is noted any more."""


class RedisStore:
    """Opens no connection before it is used."""

    shared = True

    def __init__(self, address: RedisAddress) -> None:
        self._connections = Connections(address)
        self._load, self._commit, self._delete = (
            Script("since_version", step) for step in ("load", "commit", "delete")
        )
        self._process = token_hex(8)
        self._numbers = count(1)
        self._clocks = ServerClocks(str(address), several=address.form is Form.CLUSTER)
        self._values, self._discard = (Script("since_version", step) for step in ("values", "discard"))
        self._ready, self._note, self._sample = (Script(step) for step in ("ready", "note", "sample"))
        self._unreadable: set[str] = set()
        self._groups = GroupCache()
        self._splits = RedisSplits(self._connections, self._clocks, self._process)

    def cached(self, name: str) -> Loaded | None:
        seen = self._groups.get(name)
        if seen is None:
            return None
        jumps = self._clocks.jumps(name)
        return Loaded(
            name,
            seen.version,
            seen.now_ms(),
            seen.group,
            confirmed=False,
            series=seen.series,
            jumps=jumps,
        )

    async def load(self, name: str) -> Loaded:
        sent_ms, seen = monotonic_ms(), self._groups.get(name)
        answer = await self._run(self._load, name, [_mark(seen)])
        return await self._merged(name, answer, seen, sent_ms)

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        name = loaded.name
        if loaded.group is None:
            # before the commit, so that no group is ever missing from the list
            await self._connections.command("ZADD", keys.GROUPS, 0, name)
        series = self._series_after(loaded)
        args = await _commit_args(loaded, group, series)
        sent_ms = monotonic_ms()
        wait_ms, *answer = await self._run(self._commit, name, [*args, self._process, reserve_ms])
        if wait_ms:
            await asyncio.sleep(wait_ms / 1_000)
            return await self.load(name)
        if answer[0] != mark(loaded.next_version, series):
            return await self._merged(name, answer, loaded, sent_ms)
        ahead_ms = self._clocks.answered(name, int(answer[1]), sent_ms)
        self._clocks.made_up(name, loaded.jumps)
        self._groups.keep(name, CachedGroup(loaded.next_version, group, ahead_ms, series, continues=True))
        if loaded.group is None:
            # and after it: a delete of its predecessor may have taken it off the list meanwhile
            await self._connections.command("ZADD", keys.GROUPS, 0, name)
        return None

    async def delete(self, loaded: Loaded) -> bool:
        """Take the group off the list last, so that no group is ever missing from it; and put it
        back if a successor was created meanwhile.
        """
        args: list[str | bytes | int] = [_mark(loaded), loaded.last_version, REMEMBERED_MS]
        own = keys.all_of_group(loaded.name)
        done = await self._connections.run(self._delete, own, args)
        if done:
            await self._unlist(loaded.name)
        self._groups.drop(loaded.name)
        return bool(done)

    async def discard(self, name: str, act: str = "") -> int | NotDiscarded:
        """Also takes a name off the list that has no group."""
        call = token_hex(8)
        args: list[str | bytes | int] = [AHEAD_MS, REMEMBERED_MS, act or call, call]
        own = keys.all_of_group(name)
        readers = await self._connections.run(self._discard, own, args)
        self._groups.drop(name)
        self._unreadable.discard(name)
        await self._unlist(name)
        if readers is None:
            return NotDiscarded.NO_GROUP
        return NotDiscarded.DONE_BEFORE if int(readers) < 0 else int(readers)

    async def load_splits(self, name: str) -> LoadedSplits:
        return await self._splits.load(name)

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        return await self._splits.commit(loaded, sources, reserve_ms)

    async def append_journal(self, name: str, entries: Sequence[str]) -> None:
        args: list[str | bytes | int] = [JOURNAL_KEPT, JOURNAL_KEPT_MS, packed(entries)]
        await self._connections.run(self._note, (keys.state(name), keys.journal(name)), args)

    async def read_journal(self, name: str, span: JournalSpan, limit: int) -> list[tuple[str, str]]:
        low, high = f"({span.after}" if span.after else "-", f"({span.before}" if span.before else "+"
        command, *ends = ("XREVRANGE", high, low) if span.newest_first else ("XRANGE", low, high)
        found = await self._connections.command(command, keys.journal(name), *ends, "COUNT", limit)
        return [(str(id), str(fields["entry"])) for id, fields in found]

    async def append_sample(self, name: str, text: str) -> None:
        levels = [number for level in SAMPLE_LEVELS for number in level]
        await self._connections.run(
            self._sample, (keys.state(name), *keys.samples(name)), [text, SAMPLES_KEPT_MS, *levels]
        )

    async def read_samples(self, name: str) -> list[tuple[int, str]]:
        levels = list[list[tuple[int, str]]]()
        for key in keys.samples(name):
            found = await self._connections.command("XRANGE", key, "-", "+")
            levels.append([(int(str(id).partition("-")[0]), str(fields["sample"])) for id, fields in found])
        return finest(levels)

    async def names(self, after: str, limit: int) -> list[str]:
        low = f"({after}" if after else "-"
        return [
            str(name)
            for name in await self._connections.command("ZRANGEBYLEX", keys.GROUPS, low, "+", "LIMIT", 0, limit)
        ]

    async def count(self) -> int:
        return int(await self._connections.command("ZCARD", keys.GROUPS))

    async def ping(self) -> None:
        if not await self._connections.run(self._ready, [keys.READY], []):
            raise StoreUnavailable("this Redis is older than 7.0, the oldest supported version")

    async def dangers(self) -> list[str] | None:
        policies = await self._connections.eviction_policies()
        if policies is None:
            return None
        return [
            f"Redis may delete groups when its memory is full (maxmemory-policy {policy}), "
            "so that their queries are no longer aligned: set maxmemory-policy to noeviction"
            for policy in sorted(policies)
            if policy.startswith("allkeys")
        ]

    async def close(self) -> None:
        await self._connections.close()

    async def _unlist(self, name: str) -> None:
        await self._connections.command("ZREM", keys.GROUPS, name)
        if (await self.load(name)).group is not None:
            await self._connections.command("ZADD", keys.GROUPS, 0, name)

    async def _run(
        self,
        script: Script,
        name: str,
        args: Sequence[str | bytes | int],
        more: Sequence[str] = (),
    ) -> list[Any]:
        """Return a script over the keys of one group, and `more`. Raises `UnreadableGroup` where
        they hold what is no group.
        """
        try:
            answer: list[Any] = await self._connections.run(script, (*keys.of_group(name), *more), args)
        except StoreUnavailable as error:
            if not is_no_group(error.__cause__):
                raise
            raise self._sick(unreadable(name, "its keys hold something else")) from error
        return answer

    def _series_after(self, loaded: Loaded) -> str:
        """Return the series of a commit upon `loaded`: that of `loaded`, if this process's last
        commit made it; else a new one. It is asked for before the commit is tried, and no series is
        continued after a commit whose outcome is not known.
        """
        seen = self._groups.get(loaded.name)
        if seen is not None and seen.continues:
            seen.continues = False
            if (seen.version, seen.series) == (loaded.version, loaded.series):
                return seen.series
        return f"{self._process}-{next(self._numbers)}"

    async def _merged(
        self, name: str, answer: Sequence[Any], base: Loaded | CachedGroup | None, sent_ms: float
    ) -> Loaded:
        """Return `base` with an answer of scripts/since_version.lua; the cache keeps the result."""
        group = None if base is None else base.group
        ahead_ms = self._clocks.answered(name, int(answer[1]), sent_ms)
        if len(answer) > 2:
            reading = ReadingGroup(name, group)
            try:
                answer, ahead_ms = await self._read_on(reading, answer, ahead_ms)
                group = reading.group()
            except UnreadableGroup as error:
                raise self._sick(error) from error.__cause__
        self._unreadable.discard(name)
        (version, series), now_ms = parts(answer[0]), int(answer[1])
        seen = self._groups.get(name)
        if seen is not None and (seen.version, seen.series) == (version, series):
            seen.ahead_ms = ahead_ms  # and whether its series goes on stays: a commit may be under way
        else:
            self._groups.keep(name, CachedGroup(version, group, ahead_ms, series, continues=False))
        jumps = self._clocks.jumps(name)
        return Loaded(name, version, now_ms, group, series=series, jumps=jumps)

    async def _read_on(
        self, reading: ReadingGroup, answer: Sequence[Any], ahead_ms: float
    ) -> tuple[Sequence[Any], float]:
        """Read until nothing is missing. Returns the last answer, and by how much its time is
        ahead.
        """
        name = reading.name

        async def values(fields: list[str]) -> list[Any]:
            return await self._run(self._values, name, [packed(fields)])

        async def since(known: str) -> list[Any]:
            nonlocal ahead_ms
            sent_ms = monotonic_ms()
            found = await self._run(self._load, name, [known])
            ahead_ms = self._clocks.answered(name, int(found[1]), sent_ms)
            return found

        return await read_on(reading, answer, values, since), ahead_ms

    def _sick(self, error: UnreadableGroup) -> UnreadableGroup:
        """Log it once for each group."""
        if error.name not in self._unreadable:
            self._unreadable.add(error.name)
            log.warning("%s", error)
        return error


def _mark(known: Loaded | CachedGroup | None) -> str:
    return NOTHING if known is None else mark(known.version, known.series)


async def _commit_args(loaded: Loaded, group: Group, series: str) -> list[str | bytes | int]:
    before = Readers() if loaded.group is None else loaded.group.readers
    removed: list[str] = []
    written: list[str] = []
    for number, (key, _, reader) in enumerate(group.readers.moved_since(before), 1):
        if reader is None:
            removed.append(keys.reader_field(key))
        else:
            written += (keys.reader_field(key), reader_to_text(reader))
        if number % ENCODED_AT_ONCE == 0:
            await asyncio.sleep(0)
    cached_ms = "" if loaded.confirmed else loaded.now_ms
    return [
        _mark(loaded),
        cached_ms,
        CACHED_WITHIN_MS,
        loaded.next_version,
        head_to_text(group),
        REMEMBERED_MS,
        packed(removed),
        packed(written),
        series,
        SERIES_KEPT,
    ]
