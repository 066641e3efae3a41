"""Turns: recall or load, the commands that are waiting, evaluate, commit; and again with what stood
in the way of the commit.

Commands for one group that come while a turn is under way wait and make the next turn together: one
evaluation and one commit, mostly one round trip, for all of them. So a burst of reports costs a few
turns and not one each, and two processes seldom meet. Each command is judged alone: a refused one
takes nothing from the others. All are answered with the event of their turn, so each answer takes
its own command into account. Nobody is answered before it is stored, or, where nothing changes,
before the store has said that this is how it stands.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, groupby
from typing import cast

from lockgate.errors import Refused, UnknownGroup
from lockgate.group.alignment import evaluate
from lockgate.group.commands import report_all
from lockgate.group.group import Group
from lockgate.group.leases import first_lease_end, silent_ms
from lockgate.wire.events import ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate_coordinator.store import Loaded, Store, StoreUnavailable
from lockgate_coordinator.store.base import CLAIMED_MS

Change = Callable[[Loaded, Group | None], Group | None]
"""From what was loaded (its time and its version) and the group as the commands before have left it
to the group after this one.
"""


@dataclass(frozen=True, slots=True)
class Reports:
    """The most frequent command by far: all that stand next to each other make one new group
    together, and not one each.
    """

    items: Sequence[tuple[str, ReportedWatermarkEvent]]


Command = Change | Reports

ATTEMPTS = 100
"""How often a turn is tried. Of processes that collide one always gets through, so this many in a
row means something is wrong.
"""

CONTENDED_S = 1.0
"""For how long after a lost turn or a refused claim others are taken to be at work in the group.
Then busy turns claim it first.
"""

CLAIM_FROM = 4
"""How many commands are worth a claim: it may have to wait for others, and a refused commit of
fewer costs less than that.
"""

CLAIM_ATTEMPTS = 20
"""How often a claim is tried before a turn goes on without it."""

GATHER_LOOKS = 16
"""How often the event loop may look at its connections before a turn, while each look brings more
commands to go with it.
"""

HOPE_S = 0.002
"""For how long those that were just answered are hoped for: some round trips to a Redis nearby, and
little to a reader.
"""

HEAVY = 500
"""From how many reports on, or of how many readers that may all have to be looked at, a turn asks
for the time before it begins.
"""


class PreconditionFailed(Exception):
    """A command's condition on the group's configuration does not hold. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A command's outcome: the group right after it, the group after the whole turn, and the event
    that holds now.

    `refusals`: what refuses some of its reports, by their index.
    """

    own: Group
    group: Group
    event: WatermarkAlignmentEvent
    now_ms: int
    refusals: Mapping[int, Refused] = field(default_factory=dict)


_Waiting = tuple[Command, "asyncio.Future[Turn]"]
_NONE_REFUSED: Mapping[int, Refused] = {}
_Own = Group | Exception | Mapping[int, Refused]


class _Hoped:
    """So many commands, or as many as come in `HOPE_S`."""

    __slots__ = ("_come", "commands")

    def __init__(self, commands: int) -> None:
        self.commands = commands
        self._come: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(self) -> None:
        if not self._come.done():
            self._come.set_result(None)

    async def come(self) -> None:
        timer = asyncio.get_running_loop().call_later(HOPE_S, self.wake)
        try:
            await self._come
        finally:
            timer.cancel()


class Turns:
    """One turn at a time for each group. `committed` is told each turn's outcome before the
    commands' callers are.
    """

    def __init__(self, store: Store, committed: Callable[[Turn], None]) -> None:
        self._store = store
        self._committed = committed
        self._waiting: dict[str, list[_Waiting]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._hoped: dict[str, _Hoped] = {}
        self.taken = self.commands = 0
        self._contended: dict[str, asyncio.TimerHandle] = {}  # until that is forgotten
        self._ours: dict[str, float] = {}  # until when the group is, by the loop's clock
        self._took_s = 0.0  # the last turn, of whichever group

    async def take(self, name: str, command: Command) -> Turn:
        """Raises what the command raises, `UnknownGroup` if it leaves no group, and
        `StoreUnavailable`.
        """
        future: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(name, [])
        waiting.append((command, future))
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._run(name))
        elif (hoped := self._hoped.get(name)) is not None and len(waiting) >= hoped.commands:
            hoped.wake()
        return await future

    async def _run(self, name: str) -> None:
        try:
            answered = 0
            while await self._gathered(name, answered):
                answered = await self._turn(name)
        finally:
            del self._running[name]

    async def _turn(self, name: str) -> int:
        """How many commands it has answered."""
        waiting, loop = list[_Waiting](), asyncio.get_running_loop()
        try:
            if name in self._contended and len(self._waiting[name]) >= CLAIM_FROM:
                await self._claimed(name)
            waiting, began = self._waiting.pop(name), loop.time()
            outcomes = await self._outcomes(name, [command for command, _ in waiting])
            self._took_s = loop.time() - began
        except Exception as error:  # whatever it is, somebody waits for it
            waiting = waiting or self._waiting.pop(name)
            outcomes = [error] * len(waiting)
        for (_, future), outcome in zip(waiting, outcomes, strict=True):
            if future.done():  # the caller has gone away
                continue
            if isinstance(outcome, Turn):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)
        return len(waiting)

    async def _gathered(self, name: str, answered: int) -> bool:
        """Whether there is anything to do, once a look at all connections has brought no further
        command.

        Where a turn is a round trip, whoever was just answered is hoped for: it comes again sooner
        than another turn would be over.
        """
        if answered and self._store.shared:
            self._hoped[name] = hoped = _Hoped(answered + len(self._waiting.get(name, ())))
            await hoped.come()
            del self._hoped[name]
        for _ in range(GATHER_LOOKS):
            before = len(self._waiting.get(name, ()))
            await asyncio.sleep(0)
            if len(self._waiting.get(name, ())) == before:
                break
        return name in self._waiting

    async def _claimed(self, name: str) -> None:
        """A turn that would outlast our claim is for the next one: it would lose against whoever
        claims then.
        """
        loop = asyncio.get_running_loop()
        if loop.time() + self._took_s < self._ours.get(name, 0.0):
            return
        for _ in range(CLAIM_ATTEMPTS):
            asked = loop.time()
            wait_ms = await self._store.claim(name)
            if not wait_ms:
                if name in self._contended:
                    self._ours[name] = asked + CLAIMED_MS / 1_000
                return
            self._met_others(name)
            await asyncio.sleep(wait_ms / 1_000)

    def _met_others(self, name: str) -> None:
        if name in self._contended:
            self._contended[name].cancel()
        self._contended[name] = asyncio.get_running_loop().call_later(CONTENDED_S, self._alone, name)

    def _alone(self, name: str) -> None:
        del self._contended[name]
        self._ours.pop(name, None)

    async def _outcomes(self, name: str, commands: list[Command]) -> list[Turn | Exception]:
        """One for each command, once the group that they make is stored."""
        self.taken, self.commands = self.taken + 1, self.commands + len(commands)
        loaded = self._store.recall(name)
        if loaded is None or _is_heavy(commands, loaded):
            loaded = await self._store.load(name)
        for _ in range(ATTEMPTS):
            group, owns = _applied(loaded, commands)
            event = None
            if group is not None:
                group, event = evaluate(group, loaded.now_ms)
            instead = await self._stored(loaded, group)
            if instead is None:
                return self._told(name, owns, group, event, loaded.now_ms)
            if instead.version != loaded.version:  # and not only the time was off
                self._met_others(name)
            loaded = instead  # and on at once: the longer it is looked at, the older it gets
        raise StoreUnavailable(f"group {name!r} was changed by others {ATTEMPTS} times in a row: send again")

    async def _stored(self, loaded: Loaded, group: Group | None) -> Loaded | None:
        """None if `group` stands in the store now; else what stands there instead. Where nothing
        has changed there is nothing to store.
        """
        if group is not None and group is not loaded.group:
            return await self._store.commit(loaded, group)
        return None if loaded.sure else await self._store.load(loaded.name)

    def _told(
        self, name: str, owns: list[_Own], group: Group | None, event: WatermarkAlignmentEvent | None, now_ms: int
    ) -> list[Turn | Exception]:
        if group is None or event is None:
            return [own if isinstance(own, Exception) else UnknownGroup(name) for own in owns]
        turn = Turn(group, group, event, now_ms)
        self._committed(turn)
        return [_outcome(own, turn) if own else turn for own in owns]


def _outcome(own: _Own, turn: Turn) -> Turn | Exception:
    if isinstance(own, Exception):
        return own
    return replace(turn, own=own) if isinstance(own, Group) else replace(turn, refusals=own)


def _applied(loaded: Loaded, commands: list[Command]) -> tuple[Group | None, list[_Own]]:
    """The group after all commands. For each the group right after it, or what refuses it; for
    reports what refuses each of them.
    """
    group, owns = loaded.group, list[_Own]()
    for are_reports, run in groupby(commands, key=_is_reports):
        if are_reports:
            group, outcomes = _reported(loaded, group, cast("list[Reports]", list(run)))
            owns += outcomes
            continue
        for command in cast("Iterable[Change]", run):
            try:
                after = command(loaded, group)
            except (Refused, PreconditionFailed) as refusal:
                owns.append(refusal)
            else:
                owns.append(UnknownGroup(loaded.name) if after is None else after)
                group = after
    return group, owns


def _is_reports(command: Command) -> bool:
    return type(command) is Reports


def _is_heavy(commands: list[Command], recalled: Loaded) -> bool:
    """What takes so long that a recalled time would be outdated before the commit, and all the work
    done twice.
    """
    group = recalled.group
    if group is not None and len(group.readers) > HEAVY:
        first = first_lease_end(group)
        if silent_ms(group, recalled.now_ms) or (first is not None and first <= recalled.now_ms):
            return True
    return sum(len(command.items) for command in commands if isinstance(command, Reports)) > HEAVY


def _reported(loaded: Loaded, group: Group | None, run: list[Reports]) -> tuple[Group | None, list[_Own]]:
    if group is None:
        return None, [UnknownGroup(loaded.name) for _ in run]
    group, refusals = report_all(group, chain.from_iterable(reports.items for reports in run), loaded.now_ms)
    return group, _shared(refusals, run) if refusals else [_NONE_REFUSED] * len(run)


def _shared(refusals: Mapping[int, Refused], run: list[Reports]) -> list[_Own]:
    """Of each of these commands its own, counted from its first report on."""
    ends = list(accumulate(len(reports.items) for reports in run))
    shares = [dict[int, Refused]() for _ in run]
    for index, refusal in refusals.items():
        which = bisect_right(ends, index)
        shares[which][index - ends[which] + len(run[which].items)] = refusal
    return list[_Own](shares)
