"""Groups in Redis, for any number of coordinators.

The clock and the versions in Redis keep the groups consistent.

A load or a commit is one script over the keys of one group, so it is atomic and mostly takes one
round trip. A refused commit returns the state that Redis has instead, with Redis's time. `states`
loads and commits groups and the enumerators of their sources. Enumerators are loaded before each
commit, and not taken from the cache. Otherwise the leases of splits could be checked at a time that
is later than the commit.
"""

from collections.abc import Mapping, Sequence
from secrets import token_hex

from lockgate.enumerator.model import Enumerator
from lockgate.group.group import Group
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.addresses import Form, RedisAddress
from lockgate_coordinator.store.base import (
    JOURNAL_KEPT,
    SAMPLE_LEVELS,
    SAMPLES_KEPT_MS,
    JournalSpan,
    Loaded,
    LoadedSplits,
    NotDiscarded,
    StoreUnavailable,
    finest,
)
from lockgate_coordinator.store.connections import Connections, Script
from lockgate_coordinator.store.histories import mark
from lockgate_coordinator.store.records import GroupRecords
from lockgate_coordinator.store.server_clocks import ServerClocks
from lockgate_coordinator.store.split_records import SplitRecords
from lockgate_coordinator.store.states import REMEMBERED_MS, States, packed

AHEAD_MS = 60_000
"""How far the first version of a group is above the last one of a deleted group of the same name.
An epoch may be above the group's version, because a reader may register several times within 1 ms.
"""

_CHANGED = -2
"""The answer of scripts/discard.lua if the group has another version."""

JOURNAL_KEPT_MS = 30 * 86_400_000
"""How long Redis keeps the journal of a group after the last entry."""


class RedisStore:
    """A store in Redis. It connects when it is first used."""

    shared = True

    def __init__(self, address: RedisAddress) -> None:
        self._connections = Connections(address)
        self._discard = Script("since_version", "discard")
        self._ready, self._note, self._sample = (Script(step) for step in ("ready", "note", "sample"))
        clocks = ServerClocks(str(address), several=address.form is Form.CLUSTER)
        shared = self._connections, clocks, token_hex(8), InTurn()
        self._groups = States(GroupRecords(), *shared)
        self._splits = States(SplitRecords(), *shared)

    def cached(self, name: str) -> Loaded | None:
        return self._groups.cached(name)

    async def load(self, name: str) -> Loaded:
        return await self._groups.load(name)

    async def commit(self, loaded: Loaded, group: Group, reserve_ms: int = 0) -> Loaded | None:
        if loaded.group is not None:
            return await self._groups.commit(loaded, group, reserve_ms)
        # before the commit, so that no group is ever missing from the list
        await self._list(loaded.name)
        instead = await self._groups.commit(loaded, group, reserve_ms)
        if instead is None:
            # and after it: a delete of its predecessor may have taken it off the list meanwhile
            await self._list(loaded.name)
        return instead

    async def discard(self, name: str, act: str = "", only: Loaded | None = None) -> int | NotDiscarded:
        """Delete the group, and then remove its name from the list of groups. In this order, the
        list always contains every existing group. If a new group of that name was created
        meanwhile, add the name again.
        """
        call, expected = token_hex(8), "" if only is None else mark(only.version, only.series)
        args: list[str | bytes | int] = [AHEAD_MS, REMEMBERED_MS, act or call, call, expected]
        answer = await self._connections.run(self._discard, keys.all_of_group(name), args)
        readers = None if answer is None else int(answer)
        self._groups.drop(name)
        if readers == _CHANGED:
            return NotDiscarded.CHANGED
        await self._unlist(name)
        if readers is None:
            return NotDiscarded.NO_GROUP
        return NotDiscarded.DONE_BEFORE if readers < 0 else readers

    async def load_splits(self, name: str) -> LoadedSplits:
        return await self._splits.load(name)

    async def commit_splits(self, loaded: LoadedSplits, sources: Mapping[str, Enumerator], reserve_ms: int = 0) -> bool:
        return await self._splits.commit(loaded, sources, reserve_ms) is None

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

    async def _list(self, name: str) -> None:
        await self._connections.command("ZADD", keys.GROUPS, 0, name)

    async def _unlist(self, name: str) -> None:
        await self._connections.command("ZREM", keys.GROUPS, name)
        if (await self.load(name)).group is not None:
            await self._list(name)
