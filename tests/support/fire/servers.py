"""Time, store, coordinators and networks of the virtual world. The coordinators are real."""

import asyncio
import copy
import random
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.stalls import StallDetector
from lockgate_coordinator.store import MemoryStore, StoreUnavailable
from lockgate_coordinator.store.base import Loaded, LoadedSplits
from lockgate_coordinator.telemetry.history import TurnHistory
from support.fire.access import Door, Headers
from support.rotated import Tokens

T0 = 1_767_225_600_000
TIMEOUT_S = 1.0
ROUND_TRIP_S = 0.001
KEPT_STATES = 8
KEEP_S = 0.25
"""How old the state after a failover is: up to this, or some multiple of it."""

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time goes on to the next timer at once."""

    def __init__(self) -> None:
        super().__init__()
        self._now_s = 0.0
        self._selector.select = lambda timeout: []  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._now_s

    def _run_once(self) -> None:
        if not self._ready:  # type: ignore[attr-defined]
            assert self._scheduled, "nothing will ever happen"  # type: ignore[attr-defined]
            self._now_s = max(self._now_s, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def now_s() -> float:
    return asyncio.get_running_loop().time()


def now_ms() -> int:
    return T0 + round(1000 * now_s())


class Away(Exception):
    """A call has had no answer."""


class Disk:
    """The store of all coordinators. `ahead_ms`: of its clock. `older`: its last states."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self.down = False
        self.losses = 0
        self.accepted_by: dict[tuple[str, str], str] = {}
        self.memory = MemoryStore(lambda: now_ms() + self.ahead_ms)
        self.older: list[Any] = []

    def keep(self) -> None:
        """Keep the present state for a failover."""
        memory = self.memory
        self.older = [
            *self.older,
            tuple(map(copy.copy, (memory._versions, memory._groups, memory._splits, self.accepted_by))),
        ]
        del self.older[:-KEPT_STATES]

    def fail_over(self, back: int) -> None:
        """Go on from the state of `back` keeps before, or with none."""
        memory = self.memory
        state = self.older[-back] if 0 < back <= len(self.older) else ({}, {}, {}, {})
        memory._versions, memory._groups, memory._splits, self.accepted_by = map(dict, state)
        self.older = []
        self.losses += 1


class View:
    """The store as one coordinator sees it. After each loss the server is another one."""

    shared = True

    def __init__(self, disk: Disk) -> None:
        self._disk, self.alive = disk, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._disk.memory, name)

    def cached(self, name: str) -> None:
        return None

    async def load(self, name: str) -> Loaded:
        return await self._loaded("load", name)

    async def load_splits(self, name: str) -> LoadedSplits:
        return await self._loaded("load_splits", name)

    async def commit(self, loaded: Loaded, group: Any, reserve_ms: int = 0) -> Loaded | None:
        if not await self._reaches(loaded.server):
            return await self.load(loaded.name)
        instead = await self._disk.memory.commit(loaded, group, reserve_ms)
        if instead is not None:
            return self._seen("load", instead)
        self._disk.accepted_by["load", loaded.name] = loaded.server
        return None

    async def commit_splits(self, loaded: LoadedSplits, sources: Any, reserve_ms: int = 0) -> bool:
        if not await self._reaches(loaded.server):
            return False
        done = await self._disk.memory.commit_splits(loaded, sources, reserve_ms)
        if done:
            self._disk.accepted_by["load_splits", loaded.name] = loaded.server
        return done

    async def close(self) -> None:
        return None

    async def _loaded(self, how: str, name: str) -> Any:
        await self._reaches("")
        return self._seen(how, await getattr(self._disk.memory, how)(name))

    def _seen(self, how: str, state: Any) -> Any:
        server = str(self._disk.losses)
        return replace(state, server=server, lost=self._disk.accepted_by.get((how, state.name), server) != server)

    async def _reaches(self, server: str) -> bool:
        """Return whether `server` answers, or raise `StoreUnavailable`."""
        await asyncio.sleep(ROUND_TRIP_S)
        if self._disk.down or not self.alive:
            raise StoreUnavailable("the store is away")
        return server == str(self._disk.losses)


class VirtualHistory(TurnHistory):
    """A history whose disk may be full."""

    full = False

    def _append(self, fields: Any) -> None:
        if not self.full:
            super()._append(fields)


class Node:
    """One coordinator, which may be killed and comes back."""

    def __init__(self, disk: Disk, folder: Path, tokens: Tokens) -> None:
        self._disk, self._folder, self._tokens = disk, folder, tokens
        self.start()

    def start(self) -> None:
        self.died = asyncio.Event()
        self.history = VirtualHistory(self._folder, now_ms)
        self.door = Door(self._tokens, now_s)
        self._view = View(self._disk)
        stalls = StallDetector(asyncio.get_running_loop().time)
        self.coordinator = Coordinator(self._view, [self.history], stalls=stalls)  # type: ignore[arg-type]

    async def admit(self, headers: Headers, what: Callable[[Coordinator], Awaitable[T]], follows: bool) -> T:
        """Return the answer, if `headers` permit it. Raises `Unauthorized`."""
        let = self.door.follow if follows else self.door.let
        return await let(headers, lambda: what(self.coordinator))

    async def kill(self) -> None:
        self._view.alive = False
        self.died.set()
        self.coordinator.end_waiting()
        await self.coordinator.close()


class Link:
    """The network between one client and the coordinators."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.cut = False
        self.slow_s = self.loss = 0.0

    async def call(self, node: Node, what: Callable[[Node], Awaitable[T]]) -> T:
        """Return the answer, or raise `Away`. The request may then have been carried out."""
        began = now_s()
        await self._carry(began)
        if node.died.is_set():
            raise Away
        answer, death = asyncio.ensure_future(what(node)), asyncio.ensure_future(node.died.wait())
        done, _ = await asyncio.wait(
            (answer, death), timeout=TIMEOUT_S - (now_s() - began), return_when=asyncio.FIRST_COMPLETED
        )
        death.cancel()
        if answer not in done:  # it goes on without anybody who waits for it
            answer.add_done_callback(lambda task: task.cancelled() or task.exception())
            raise Away
        try:
            found = answer.result()
        except StoreUnavailable as error:
            raise Away from error
        await self._carry(began)
        return found

    async def _carry(self, began: float) -> None:
        if self.cut or self._chance.random() < self.loss:
            await asyncio.sleep(TIMEOUT_S - (now_s() - began))
            raise Away
        await asyncio.sleep(self.slow_s + self._chance.uniform(0.0005, 0.003))
        if now_s() - began > TIMEOUT_S:
            raise Away
