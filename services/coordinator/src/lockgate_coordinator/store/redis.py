"""Groups in Redis: for any number of coordinators, which agree through its versions and its clock.

Every step is one script, so it is atomic; scripts are sent again by themselves when a restarted Redis has forgotten them. A decoded
group is kept and reused for as long as the version in Redis is the same: then a load costs one short answer. If it is another one, only
the readers whose text differs are decoded, so that replicas that take turns in a large group do not decode all of it each time.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import ConstantBackoff
from redis.exceptions import RedisError

from lockgate.group import Group, Reader, ReaderKey
from lockgate_coordinator.store import keys
from lockgate_coordinator.store.base import Loaded, StoreUnavailable
from lockgate_coordinator.store.records import group_from_text, head_to_text, reader_from_text, reader_to_text

TIMEOUT_S = 2.0
"""How long Redis may take to answer: shorter than a client's patience, longer than a slow moment."""

DELETED_KEPT_MS = 3_600_000
"""How long a deleted group's last version is kept. After that the clock alone is above whatever was given out."""

KNOWN_GROUPS = 1_024
"""How many decoded groups are kept; the longest unchanged one goes first."""


class RedisStore:
    """Opens no connection before it is used. Raises `ValueError` for an address that redis-py does not understand."""

    shared = True

    def __init__(self, url: str) -> None:
        self._client: Redis = Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(ConstantBackoff(0.01), 1),  # once: a pooled connection may be of before a restart
        )
        self._load = self._client.register_script(_script("load"))
        self._commit = self._client.register_script(_script("commit"))
        self._delete = self._client.register_script(_script("delete"))
        self._known: dict[str, _Known] = {}

    async def load(self, name: str) -> Loaded:
        known = self._known.get(name, _NOTHING)
        async with self._translated():
            version, now_ms, *rest = await self._load(keys=[keys.state(name)], args=[known.version])
        if rest:
            known = _Known.of(name, int(version), rest[0], known)
            self._keep(name, known)
        return Loaded(name, int(version), int(now_ms), known.group)

    async def commit(self, loaded: Loaded, group: Group) -> bool:
        before = {} if loaded.group is None else loaded.group.readers
        removed = [keys.reader_field(key) for key in before if key not in group.readers]
        changed = {keys.reader_field(key): reader_to_text(reader) for key, reader in group.readers.items() if before.get(key) is not reader}
        args: list[Any] = [loaded.version, loaded.next_version, head_to_text(group), len(removed), *removed]
        for field, text in changed.items():
            args += (field, text)
        async with self._translated():
            if loaded.group is None:
                await self._client.zadd(keys.GROUPS, {loaded.name: 0})  # first, so that no group is unlisted
            done = await self._commit(keys=[keys.state(loaded.name)], args=args)
        if done:
            texts = {**self._known.get(loaded.name, _NOTHING).texts, **changed}
            self._keep(loaded.name, _Known(loaded.next_version, group, texts))
        return bool(done)

    async def delete(self, loaded: Loaded) -> bool:
        """Off the list first: who creates a successor loads after the delete and lists after that, so the successor stays listed."""
        async with self._translated():
            await self._client.zrem(keys.GROUPS, loaded.name)
            done = await self._delete(keys=[keys.state(loaded.name)], args=[loaded.version, loaded.last_version, DELETED_KEPT_MS])
            if not done:
                await self._client.zadd(keys.GROUPS, {loaded.name: 0})
        self._known.pop(loaded.name, None)
        return bool(done)

    async def names(self, after: str, limit: int) -> list[str]:
        async with self._translated():
            found = await self._client.zrangebylex(keys.GROUPS, f"({after}" if after else "-", "+", start=0, num=limit)
        return [str(name) for name in found]

    async def ping(self) -> None:
        async with self._translated():
            await self._client.set(keys.READY, 1, px=1)

    async def close(self) -> None:
        await self._client.aclose()

    def _keep(self, name: str, known: "_Known") -> None:
        self._known.pop(name, None)
        if known.group is not None:
            self._known[name] = known
        if len(self._known) > KNOWN_GROUPS:
            del self._known[next(iter(self._known))]

    @asynccontextmanager
    async def _translated(self) -> AsyncIterator[None]:
        try:
            yield
        except (RedisError, OSError, TimeoutError) as error:
            where = self._client.connection_pool.connection_kwargs
            raise StoreUnavailable(f"Redis at {where.get('host', 'localhost')}:{where.get('port', 6379)}: {error}") from error


def _script(name: str) -> str:
    return (files(__package__) / "scripts" / f"{name}.lua").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Known:
    """A group as it was decoded last, with the text of each reader's field. A text of a field that is gone is never looked at again."""

    version: int
    group: Group | None
    texts: Mapping[str, str]

    @classmethod
    def of(cls, name: str, version: int, fields: list[str] | dict[str, str], before: "_Known") -> "_Known":
        """From all fields in Redis. A reader whose text is the same as before is the same."""
        texts = fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
        head = texts.get("head")
        if head is None:
            return _NOTHING
        known = {} if before.group is None else before.group.readers
        readers: dict[ReaderKey, Reader] = {}
        for field, text in texts.items():
            key = keys.reader_key(field)
            if key is not None:
                same = known.get(key) if before.texts.get(field) == text else None
                readers[key] = same or reader_from_text(text)
        return cls(version, group_from_text(name, head, readers), texts)


_NOTHING: Final = _Known(0, None, {})
