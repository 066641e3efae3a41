"""Groups in Redis: for any number of coordinators, which agree through its versions and its clock.

Every step is one script over the keys of one group, so it is atomic, and one round trip. A group is
kept as it was last seen (`known`), so that a turn can begin with it instead of asking first, and so
that an answer holds only what has changed since: both cost the same however large the group is. A
refused commit brings what stands there instead, with Redis's time.
"""

import asyncio
from collections.abc import Sequence
from secrets import token_hex
from typing import Any

from lockgate.group.group import Group
from lockgate.group.readers import Readers
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.addresses import RedisAddress
from lockgate_coordinator.store.base import CLAIMED_MS, RECALLED_WITHIN_MS, Loaded, StoreUnavailable
from lockgate_coordinator.store.connections import Connections, Script
from lockgate_coordinator.store.known import Known, KnownGroups, monotonic_ms
from lockgate_coordinator.store.records import group_from_text, head_to_text, packed, reader_from_text, reader_to_text

REMEMBERED_MS = 3_600_000
"""How long Redis keeps the last version of a deleted group, and which readers were removed: after
that the clock alone is above whatever was given out, and who has not looked for so long reads the
whole group.
"""

AWAITED_MS = 40
"""For how long the group is left, once a claim has ended, to whoever was refused one first: so that
processes claim in turn, and wait for none that is dead.
"""

DECODED_AT_ONCE = 500
"""How many readers are decoded in one go: some milliseconds."""


class RedisStore:
    """Opens no connection before it is used."""

    shared = True

    def __init__(self, address: RedisAddress) -> None:
        self._connections = Connections(address)
        self._load, self._commit, self._delete, self._claim = (
            Script("standing", step) for step in ("load", "commit", "delete", "claim")
        )
        self._process = token_hex(8)
        self._ready = Script("ready")
        self._known = KnownGroups()

    def recall(self, name: str) -> Loaded | None:
        known = self._known.get(name, self._connections.opened)
        if known is None:
            return None
        return Loaded(name, known.version, known.now_ms(), known.group, sure=False)

    async def load(self, name: str) -> Loaded:
        opened, sent_ms = self._connections.opened, monotonic_ms()
        known = self._known.get(name, opened)
        asked = [known.version if known else 0]
        answer = await self._connections.run(self._load, keys.of_group(name), asked, large=known is None)
        if known is not None and self._connections.opened != opened:
            return await self.load(name)  # what the answer adds to may be of another history
        return await self._learned(name, answer, known.group if known else None, sent_ms, opened)

    async def commit(self, loaded: Loaded, group: Group) -> Loaded | None:
        name = loaded.name
        if loaded.group is None:
            # first, so that no group is unlisted
            await self._connections.command("ZADD", keys.GROUPS, 0, name)
        opened, sent_ms = self._connections.opened, monotonic_ms()
        known = self._known.get(name, opened)
        answer = await self._connections.run(self._commit, keys.of_group(name), _commit_args(loaded, group))
        if len(answer) == 2 and int(answer[0]) == loaded.next_version:
            self._known.keep(name, Known(loaded.next_version, group, _ahead_ms(answer, sent_ms), opened))
            if (
                loaded.group is None
            ):  # and once more: a delete of its predecessor may have taken it off the list meanwhile
                await self._connections.command("ZADD", keys.GROUPS, 0, name)
            return None
        if known is None or self._connections.opened != opened:
            return await self.load(name)
        return await self._learned(name, answer, loaded.group, sent_ms, opened)

    async def delete(self, loaded: Loaded) -> bool:
        """Off the list last, so that nothing is unlisted that is there; and on it again if a
        successor is, which may have been quicker.
        """
        args = [loaded.version, loaded.last_version, REMEMBERED_MS]
        done = await self._connections.run(self._delete, keys.of_group(loaded.name), args)
        if done:
            await self._connections.command("ZREM", keys.GROUPS, loaded.name)
            if (await self.load(loaded.name)).group is not None:
                await self._connections.command("ZADD", keys.GROUPS, 0, loaded.name)
        self._known.drop(loaded.name)
        return bool(done)

    async def claim(self, name: str) -> int:
        opened, sent_ms = self._connections.opened, monotonic_ms()
        known = self._known.get(name, opened)
        args: list[str | bytes | int] = [known.version if known else 0, self._process, CLAIMED_MS, AWAITED_MS]
        wait_ms, *answer = await self._connections.run(self._claim, (*keys.of_group(name), *keys.of_claim(name)), args)
        if answer and (known is None or self._connections.opened == opened):
            await self._learned(name, answer, known.group if known else None, sent_ms, opened)
        return int(wait_ms)

    async def names(self, after: str, limit: int) -> list[str]:
        low = f"({after}" if after else "-"
        return [
            str(name)
            for name in await self._connections.command("ZRANGEBYLEX", keys.GROUPS, low, "+", "LIMIT", 0, limit)
        ]

    async def ping(self) -> None:
        if not await self._connections.run(self._ready, [keys.READY], []):
            raise StoreUnavailable("this Redis is older than 7.0, which is the oldest that will do")

    async def close(self) -> None:
        await self._connections.close()

    async def _learned(
        self, name: str, answer: Sequence[Any], base: Group | None, sent_ms: float, opened: int
    ) -> Loaded:
        """What scripts/standing.lua answers to somebody who knows `base`."""
        version, now_ms, *news = answer
        group = await _group(name, news, base) if news else base
        self._known.keep(name, Known(int(version), group, _ahead_ms(answer, sent_ms), opened))
        return Loaded(name, int(version), int(now_ms), group)


def _commit_args(loaded: Loaded, group: Group) -> list[str | bytes | int]:
    before = Readers() if loaded.group is None else loaded.group.readers
    removed: list[str] = []
    written: list[str] = []
    for key, _, reader in group.readers.moved_since(before):
        if reader is None:
            removed.append(keys.reader_field(key))
        else:
            written += (keys.reader_field(key), reader_to_text(reader))
    claimed = "" if loaded.sure else loaded.now_ms
    head = head_to_text(group)
    return [
        loaded.version,
        claimed,
        RECALLED_WITHIN_MS,
        loaded.next_version,
        head,
        REMEMBERED_MS,
        packed(removed),
        packed(written),
    ]


def _ahead_ms(answer: Sequence[Any], sent_ms: float) -> float:
    """Redis's clock less ours, if it was asked half-way between our question and now."""
    return int(answer[1]) - (sent_ms + monotonic_ms()) / 2


async def _group(name: str, news: Sequence[Any], base: Group | None) -> Group | None:
    if len(news) == 1:
        texts = dict(zip(news[0][::2], news[0][1::2], strict=True))
        head = texts.get("head")
        records = [(field, text) for field, text in texts.items() if keys.is_reader(field)]
        return None if head is None else group_from_text(name, head, await _readers(Readers(), records))
    head, fields, records, removed = news
    before = Readers() if base is None else base.readers
    kept = before.updated({keys.reader_key(field): None for field in removed})
    return group_from_text(name, head, await _readers(kept, list(zip(fields, records, strict=True))))


async def _readers(readers: Readers, records: Sequence[tuple[str, str]]) -> Readers:
    """With those of these fields and records. Of a large group a part at a time, so that others are
    answered in between.
    """
    for first in range(0, len(records), DECODED_AT_ONCE):
        if first:
            await asyncio.sleep(0)
        some = records[first : first + DECODED_AT_ONCE]
        readers = readers.updated({keys.reader_key(field): reader_from_text(text) for field, text in some})
    return readers
