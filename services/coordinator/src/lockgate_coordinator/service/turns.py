"""Turns: recall or load, the commands that are waiting, evaluate, commit; and again with what stood in the way of the commit.

Commands for one group that come while a turn is under way wait and make the next turn together: one evaluation and one commit, mostly
one round trip, for all of them. So a burst of reports costs a few turns and not one each, and two processes seldom meet. Each command
is judged alone: a refused one takes nothing from the others. All are answered with the event of their turn, so each answer takes its
own command into account. Nobody is answered before it is stored, or, where nothing changes, before the store has said that this is how
it stands.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from lockgate.alignment import evaluate
from lockgate.errors import Refused, UnknownGroup
from lockgate.events import WatermarkAlignmentEvent
from lockgate.group import Group
from lockgate_coordinator.store import Loaded, Store, StoreUnavailable

Command = Callable[[Loaded, Group | None], Group | None]
"""From what was loaded (its time and its version) and the group as the commands before have left it to the group after this one."""

ATTEMPTS = 100
"""How often a turn is tried. Of processes that collide one always gets through, so this many in a row means something is wrong."""

CONTENDED_S = 1.0
"""For how long after a lost turn others are taken to be at work in the group. Then a turn asks first, since what it recalls is outdated."""

GATHER_LOOKS = 16
"""How often the event loop may look at its connections before a turn, while each look brings more commands to go with it."""

GATHER_S = 0.002
"""How long commands are gathered before each turn while others are at work: fewer turns, and a moment for the others to get through."""


class PreconditionFailed(Exception):
    """A command's condition on the group's configuration does not hold. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A command's outcome: the group right after it, the group after the whole turn, and the event that holds now."""

    own: Group
    group: Group
    event: WatermarkAlignmentEvent
    now_ms: int


_Waiting = tuple[Command, "asyncio.Future[Turn]"]


class Turns:
    """One turn at a time for each group. `committed` is told each turn's outcome before the commands' callers are."""

    def __init__(self, store: Store, committed: Callable[[Turn], None]) -> None:
        self._store = store
        self._committed = committed
        self._waiting: dict[str, list[_Waiting]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self.taken = self.commands = 0
        self._contended: set[str] = set()

    async def take(self, name: str, command: Command) -> Turn:
        """Raises what the command raises, `UnknownGroup` if it leaves no group, and `StoreUnavailable`."""
        if not self._store.shared:  # nothing takes time, so nobody can come meanwhile: a turn for each
            (outcome,) = await self._outcomes(name, [command])
            if isinstance(outcome, Turn):
                return outcome
            raise outcome
        future: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, []).append((command, future))
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._run(name))
        return await future

    async def _run(self, name: str) -> None:
        try:
            while name in self._waiting:
                await self._gathered(name)
                await self._turn(name, self._waiting.pop(name))
        finally:
            del self._running[name]

    async def _gathered(self, name: str) -> None:
        """Returns once a look at all connections has brought no further command; later where others are at work."""
        if name in self._contended:
            await asyncio.sleep(GATHER_S)
            return
        for _ in range(GATHER_LOOKS):
            before = len(self._waiting[name])
            await asyncio.sleep(0)
            if len(self._waiting[name]) == before:
                return

    def _lost(self, name: str) -> None:
        if name not in self._contended:
            self._contended.add(name)
            asyncio.get_running_loop().call_later(CONTENDED_S, self._contended.discard, name)

    async def _turn(self, name: str, waiting: list[_Waiting]) -> None:
        try:
            outcomes = await self._outcomes(name, [command for command, _ in waiting])
        except Exception as error:  # whatever it is, somebody waits for it
            outcomes = [error] * len(waiting)
        for (_, future), outcome in zip(waiting, outcomes, strict=True):
            if future.done():  # the caller has gone away
                continue
            if isinstance(outcome, Turn):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    async def _outcomes(self, name: str, commands: list[Command]) -> list[Turn | Exception]:
        """One for each command, once the group that they make is stored."""
        self.taken, self.commands = self.taken + 1, self.commands + len(commands)
        loaded = (None if name in self._contended else self._store.recall(name)) or await self._store.load(name)
        for _ in range(ATTEMPTS):
            group, owns = _applied(loaded, commands)
            event = None
            if group is not None:
                group, event = evaluate(group, loaded.now_ms)
            instead = await self._stored(loaded, group)
            if instead is None:
                return self._told(name, owns, group, event, loaded.now_ms)
            if instead.version != loaded.version:  # and not only the time was off
                self._lost(name)
            loaded = instead  # and on at once: the longer it is looked at, the older it gets
        raise StoreUnavailable(f"group {name!r} was changed by others {ATTEMPTS} times in a row: send again")

    async def _stored(self, loaded: Loaded, group: Group | None) -> Loaded | None:
        """None if `group` stands in the store now; else what stands there instead. Where nothing has changed there is nothing to store."""
        if group is not None and group is not loaded.group:
            return await self._store.commit(loaded, group)
        return None if loaded.sure else await self._store.load(loaded.name)

    def _told(
        self, name: str, owns: list[Group | Exception], group: Group | None, event: WatermarkAlignmentEvent | None, now_ms: int
    ) -> list[Turn | Exception]:
        if group is None or event is None:
            return [own if isinstance(own, Exception) else UnknownGroup(name) for own in owns]
        self._committed(Turn(group, group, event, now_ms))
        return [own if isinstance(own, Exception) else Turn(own, group, event, now_ms) for own in owns]


def _applied(loaded: Loaded, commands: list[Command]) -> tuple[Group | None, list[Group | Exception]]:
    group, owns = loaded.group, list[Group | Exception]()
    for command in commands:
        try:
            after = command(loaded, group)
        except (Refused, PreconditionFailed) as refusal:
            owns.append(refusal)
        else:
            owns.append(UnknownGroup(loaded.name) if after is None else after)
            group = after
    return group, owns
