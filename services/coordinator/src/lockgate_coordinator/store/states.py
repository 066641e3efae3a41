"""Values in Redis: how they are loaded, cached and committed.

Only the changes of a value are transferred.

A group is one value. The enumerators of its sources are another one, which has the same kinds of
keys and the same scripts, but a version and a series of its own. A value is stored in a hash, as a
head and as records of its parts; `Records` defines them. A state is a value at one version.

**Cache.** Each process caches the last states that it has seen. So a load returns only what has
changed since then, and a commit takes one round trip. Both cost about the same for a group of 10
readers and of 10,000.

**Large answers.** No command of Redis takes long. An answer contains the names of all changed
fields, and as many of their records as fit into one command (scripts/since_version.lua). The others
are read by further commands. Other commits may happen meanwhile, so these records may be newer than
the state. Therefore all changes since that state are loaded next, in the same way, until an answer
is complete. Each field that another commit has changed is then as in the last answer, and all
others have not changed since the first one. So the outcome is the state of the last answer.

A record that cannot be decoded makes only its own group unreadable.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from lockgate.errors import UnknownGroup
from lockgate.steps import Steps
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.store.base import CACHED_WITHIN_MS, State, StoreUnavailable, UnreadableGroup
from lockgate_coordinator.store.connections import Connections, Script, is_no_group
from lockgate_coordinator.store.histories import NOTHING, SERIES_KEPT, mark, parts
from lockgate_coordinator.store.server_clocks import ServerClocks, monotonic_ms

log = logging.getLogger("lockgate")

V = TypeVar("V")
S = TypeVar("S", bound=State[Any])

CACHED: Final = 1_024
"""The maximum number of cached states of each kind. The least recently stored one is dropped."""

REMEMBERED_MS: Final = 3_600_000
"""How long Redis remembers the last version of a deleted group, and the names of removed records.
After that the clock is above every version of the group, and a process with an older cached state
loads the whole state.
"""

READINGS: Final = 20
"""The maximum number of loads of a large state that changes while it is read."""

FIELDS_AT_ONCE: Final = 1_000

RECORDS_AT_ONCE: Final = 100
CHARACTERS_AT_ONCE: Final = 500_000
"""The number of characters that are decoded in one step, which takes a few ms."""

REMEDY: Final = "Delete the group (`lockgate delete`), and its readers build it again; or restore Redis from a backup"


class Records(Protocol[V, S]):
    """The encoding of one kind of values as records.

    Attributes:
        of: The end of a phrase in messages, such as " of its splits" after "the keys".
        part: A name for this kind of values; empty for groups.
        scripts: The names of the files that make up the script of a commit.
        state: The class of the states of these values.
        nothing: The value of a group that does not exist.
    """

    of: str
    part: str
    scripts: Sequence[str]
    state: type[S]
    nothing: V

    def keys(self, group: str) -> tuple[str, ...]:
        """Return the Redis keys of the group that the scripts use."""
        ...

    def head(self, value: V) -> str:
        """Return the encoded head of the value."""
        ...

    def head_from(self, name: str, text: str) -> Any:
        """Return the decoded head. Raises `UnreadableGroup` for a newer format."""
        ...

    def key(self, field: str) -> Any:
        """Return the key of the record in the hash field `field`, such as a `ReaderKey`. Raises
        `ValueError` if the name of the field is invalid.
        """
        ...

    def record_from(self, key: Any, text: str) -> Steps[Any]:
        """Decode `text`, the record of `key`, and return it, for example as a `Reader`."""
        ...

    def changed(self, before: V, after: V) -> Steps[tuple[list[str], list[str]]]:
        """Compare `before` with `after`. Return the names of the removed fields, and a flat list in
        which the name of each changed field is followed by its record.
        """
        ...

    def updated(self, name: str, before: V, head: Any, changes: Mapping[Any, Any]) -> Steps[V]:
        """Return `before` with the new `head` and `changes`. A change of None removes its key."""
        ...


@dataclass(slots=True)
class CachedState(Generic[V]):
    """A cached state.

    Attributes:
        ahead_ms: The time of Redis's clock minus that of this machine's monotonic clock.
        server: The server that returned or accepted the state.
        continues: Whether this process's last commit made the state, so that its next one continues
            the series.
        moved: Whether another server had accepted the state, and this one may lack later ones.
        lost: Whether the state is from another history than the one seen before, and no commit has
            taken that into account yet.
    """

    version: int
    series: str
    value: V
    ahead_ms: float
    server: str
    continues: bool = False
    moved: bool = False
    lost: bool = False

    def is_of(self, state: State[Any]) -> bool:
        """Return whether `state` has the same version and series."""
        return (self.version, self.series) == (state.version, state.series)


class States(Generic[V, S]):
    """The states of one kind of values in a Redis, cached. Names of series begin with `process`."""

    def __init__(
        self, records: Records[V, S], connections: Connections, clocks: ServerClocks, process: str, in_turn: InTurn
    ) -> None:
        self._records = records
        self._connections, self._clocks, self._in_turn = connections, clocks, in_turn
        self._process, self._numbers = process, count(1)
        self._load, self._values = (Script("since_version", step) for step in ("load", "values"))
        self._commit = Script(*records.scripts)
        self._seen: dict[str, CachedState[V]] = {}
        self._unreadable: set[str] = set()
        self._moved_to = ""

    def cached(self, name: str) -> S | None:
        """Return the cached state, with an estimate of Redis's time, or None if none is cached."""
        seen = self._seen.get(name)
        return None if seen is None else self._state(name, seen, int(monotonic_ms() + seen.ahead_ms), confirmed=False)

    async def load(self, name: str) -> S:
        sent_ms, seen = monotonic_ms(), self._seen.get(name)
        known = NOTHING if seen is None else mark(seen.version, seen.series)
        answer = await self._run(self._load, name, [known])
        return await self._merged(name, answer, seen, sent_ms)

    async def commit(self, state: S, value: V, reserve_ms: int) -> S | None:
        """Commit `value` as the successor of `state`, and return None. If Redis has another state,
        return that one, and make the commits of other processes wait for `reserve_ms`. Raises
        `UnknownGroup` if `value` is a group's enumerators, and the group was deleted.
        """
        name, records, series = state.name, self._records, self._series_after(state)
        removed, written = await self._in_turn.work(records.changed(state.value, value))
        args: list[str | bytes | int] = [
            mark(state.version, state.series),
            "" if state.confirmed else state.now_ms,
            CACHED_WITHIN_MS,
            state.next_version,
            records.head(value),
            REMEMBERED_MS,
            packed(removed),
            packed(written),
            series,
            SERIES_KEPT,
            self._process,
            reserve_ms,
            state.server,
        ]
        sent_ms = monotonic_ms()
        wait_ms, *answer = await self._run(self._commit, name, args)
        if wait_ms:
            await asyncio.sleep(wait_ms / 1_000)
            return await self.load(name)
        if not answer[0]:
            self.drop(name)
            raise UnknownGroup(name)
        seen = self._seen.get(name)
        if answer[0] != mark(state.next_version, series):
            return await self._merged(name, answer, state, sent_ms)
        ahead_ms = self._clocks.answered(name, int(answer[1]), sent_ms)
        self._clocks.made_up(name, state.jumps, records.part)
        if seen is None or seen.is_of(state):
            self._keep(name, CachedState(state.next_version, series, value, ahead_ms, state.server, True))
        return None

    def drop(self, name: str) -> None:
        """Remove the group from the cache."""
        self._seen.pop(name, None)
        self._unreadable.discard(name)

    def _state(self, name: str, seen: CachedState[V], now_ms: int, *, confirmed: bool = True) -> S:
        jumps = self._clocks.jumps(name, self._records.part)
        lost = seen.lost or seen.moved
        return self._records.state(
            name, seen.version, now_ms, seen.value, confirmed, seen.series, jumps, seen.server, lost
        )

    def _series_after(self, state: S) -> str:
        """Return the series of a commit that is based on `state`: the series of `state` if
        this process's last commit made that state, otherwise a new one. Call this before the
        commit, so that no series is continued after a commit with an unknown outcome.
        """
        seen = self._seen.get(state.name)
        if seen is not None and seen.continues:
            seen.continues = False
            if seen.is_of(state):
                return seen.series
        return f"{self._process}-{next(self._numbers)}"

    def _keep(self, name: str, seen: CachedState[V]) -> None:
        self._seen.pop(name, None)
        if seen.value or seen.lost:
            self._seen[name] = seen
        if len(self._seen) > CACHED:
            del self._seen[next(iter(self._seen))]

    async def _merged(self, name: str, answer: Sequence[Any], base: S | CachedState[V] | None, sent_ms: float) -> S:
        """Return `base` updated with an answer of since_version.lua, and cache the state. The
        script was called at `sent_ms` (monotonic).
        """
        ahead_ms = self._clocks.answered(name, int(answer[1]), sent_ms)
        value, lost = (self._records.nothing, False) if base is None else (base.value, base.lost)
        if len(answer) > 4:
            value, answer, ahead_ms, lost_now = await self._read(name, value, answer, ahead_ms)
            lost |= lost_now
        self._unreadable.discard(name)
        version, series = parts(answer[0])
        server, moved = str(answer[2]), bool(answer[3])
        if moved and server != self._moved_to:
            self._moved_to = server
            log.warning("Redis has failed over or restarted: it may lack recent changes of groups%s", self._records.of)
        found, seen = CachedState(version, series, value, ahead_ms, server, False, moved, lost), self._seen.get(name)
        state = self._state(name, found, int(answer[1]))
        if seen is not None and seen.is_of(state):
            # Whether its series goes on stays: a commit may be under way.
            seen.ahead_ms, seen.server, seen.moved = ahead_ms, server, moved
        else:
            self._keep(name, found)
        return state

    async def _read(
        self, name: str, value: V, answer: Sequence[Any], ahead_ms: float
    ) -> tuple[V, Sequence[Any], float, bool]:
        """Read the records that are missing from `answer`, and load later changes until an answer
        is complete. Return the updated `value`, the last answer, its `ahead_ms`, and whether Redis
        has certainly lost the given value.
        """
        records, changes, lost = self._records, dict[Any, Any](), False
        head: Any = None
        for _ in range(READINGS):
            if len(answer) == 4:
                break
            text, fields, texts, removed, whole, is_lost = answer[4:]
            if text is None and fields:
                raise self._sick(name, "the record of its head is missing")
            head = None if text is None else self._head(name, text)
            if whole:
                if value and head is not None and is_lost:
                    lost = True
                    log.warning(
                        "group %s: Redis has lost recent changes%s, so this coordinator discards its cached copy",
                        name,
                        records.of,
                    )
                value, changes = records.nothing, {}
            await self._in_turn.work(self._decoded(name, changes, removed, [None] * len(removed)))
            await self._in_turn.work(self._decoded(name, changes, fields, texts))
            missing = fields[len(texts) :]
            if not missing:
                break
            while missing:
                texts = await self._run(self._values, name, [packed(missing[:FIELDS_AT_ONCE])])
                await self._in_turn.work(self._decoded(name, changes, missing, texts))
                missing = missing[len(texts) :]
            sent_ms = monotonic_ms()
            answer = [*await self._run(self._load, name, [answer[0]])]
            ahead_ms = self._clocks.answered(name, int(answer[1]), sent_ms)
        else:
            raise StoreUnavailable(f"group {name!r} changes faster than it can be read: send the request again")
        return await self._in_turn.work(records.updated(name, value, head, changes)), answer, ahead_ms, lost

    def _head(self, name: str, text: str) -> Any:
        try:
            return self._records.head_from(name, text)
        except UnreadableGroup as error:
            raise self._logged(error) from error.__cause__
        except (msgspec.MsgspecError, ValueError, TypeError, AttributeError) as error:
            raise self._sick(name, f"the record of its head is damaged ({error})") from error

    def _decoded(
        self, name: str, changes: dict[Any, Any], fields: Sequence[str], texts: Sequence[str | None]
    ) -> Steps[None]:
        """Decode the records in `texts`, and add each to `changes` by the key of its field. For a
        removed field, the text and the change are None. There may be more fields than texts.
        """
        characters = 0
        for number, (field, text) in enumerate(zip(fields, texts, strict=False), 1):
            try:
                key = self._records.key(field)
                changes[key] = None if text is None else (yield from self._records.record_from(key, text))
            except (msgspec.MsgspecError, ValueError) as error:
                raise self._sick(name, f"the record {field[:300]!r}{self._records.of} is damaged ({error})") from error
            characters += len(text or "")
            if not number % RECORDS_AT_ONCE or characters > CHARACTERS_AT_ONCE:
                characters = 0
                yield

    async def _run(self, script: Script, name: str, args: Sequence[str | bytes | int]) -> list[Any]:
        try:
            answer: list[Any] = await self._connections.run(script, self._records.keys(name), args)
        except StoreUnavailable as error:
            if not is_no_group(error.__cause__):
                raise
            raise self._sick(name, f"the keys{self._records.of} hold something else") from error
        return answer

    def _sick(self, name: str, reason: str) -> UnreadableGroup:
        return self._logged(UnreadableGroup(name, reason, REMEDY))

    def _logged(self, error: UnreadableGroup) -> UnreadableGroup:
        """Log the error, unless its group is already known to be unreadable, and return it."""
        if error.name not in self._unreadable:
            self._unreadable.add(error.name)
            log.warning("%s", error)
        return error


def packed(words: Sequence[str]) -> bytes:
    """Return `words` as one argument, which a script reads much faster than many arguments."""
    return msgspec.msgpack.encode(words)
