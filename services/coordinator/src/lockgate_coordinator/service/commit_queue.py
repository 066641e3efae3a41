"""The commit queue: commands for a group wait for each other and are committed together.

    cached or loaded group → all waiting commands → evaluate → commit → answers
                 ↑                                       │
                 └── the store has another version ──────┘

Commands that arrive while a commit is under way wait, and make the next commit together: one
evaluation and mostly one round trip for all of them. So a burst of reports costs a few commits and
not one each, and two processes seldom collide. Each command is judged alone: a refused command
takes nothing from the others. All are answered with the event of their commit, so each answer takes
its own command into account. No command is answered before its result is stored, or, where nothing
changes, before the store has confirmed that the group is as it was evaluated.

`claims` keep other processes away from a commit of a busy group. What helps a commit that others
keep overtaking is in `persistence`.
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
from lockgate.group.group import Group, not_below
from lockgate.group.hearing import ALWAYS, Hearing
from lockgate.group.leaps import after_leaps
from lockgate.group.leases import first_lease_end, silent_ms
from lockgate.wire.events import ProgressEvent, ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate_coordinator.service.claims import Claims
from lockgate_coordinator.service.persistence import Persistence
from lockgate_coordinator.service.pulse import Pulse
from lockgate_coordinator.store import Loaded, Store

Change = Callable[[Loaded, Group | None], Group | None]
"""One command: takes what was loaded (for its time and version) and the group as the commands
before it have left it, and returns the group after it.
"""


@dataclass(frozen=True, slots=True)
class Reports:
    """The most frequent command by far. All that stand next to each other in the queue make one new
    group together, and not one each.
    """

    items: Sequence[tuple[str, ReportedWatermarkEvent]]


@dataclass(frozen=True, slots=True)
class Look:
    """The command that lets time do its work, and end no outage. It changes nothing else, unless
    the store has lost `announced`, a revision that this process has announced: then the group gets
    a revision above it.
    """

    announced: int = -1

    def __call__(self, loaded: Loaded, group: Group | None) -> Group | None:
        return None if group is None else not_below(group, self.announced, loaded.now_ms)


Command = Change | Reports

AT_ONCE = 1_000
"""Reports and other commands that make one commit, in some 15 ms. Between two commits other
requests are served.
"""

HEAVY = 500
"""From how many reports on, or readers whose leases may all have to be checked, a commit loads its
group first. Its work takes so long that a cached time would be too old at its end.
"""


class PreconditionFailed(Exception):
    """A command's condition on the group's configuration does not hold. Nothing was changed."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A command's outcome: `own` is the group right after it, `group` the group after the whole
    commit, `event` the announcement that holds now.

    `refusals`: which of its reports were refused, by their index. `hearing`: of this process, by
    which the group was judged.
    """

    own: Group
    group: Group
    event: WatermarkAlignmentEvent
    now_ms: int
    refusals: Mapping[int, Refused] = field(default_factory=dict)
    hearing: Hearing = ALWAYS


_Waiting = tuple[Command, "asyncio.Future[Committed]"]
_NONE_REFUSED: Mapping[int, Refused] = {}
_Own = Group | Exception | Mapping[int, Refused]


class CommitQueue:
    """One commit at a time for each group. `announce` gets the outcome of each commit before the
    commands' callers do. `pulse` is that of the event loop; None: one of its own.
    """

    def __init__(
        self,
        store: Store,
        announce: Callable[[Committed], None],
        pulse: Pulse | None = None,
    ) -> None:
        self._store = store
        self._pulse = pulse or Pulse()
        self._announce = announce
        self._waiting: dict[str, list[_Waiting]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._claims = Claims(store)
        self.persistence = Persistence()
        self.commits = self.commands = 0
        self._commit_s = 0.0  # how long the last commit took, of whichever group

    async def submit(self, name: str, command: Command) -> Committed:
        """Raise what the command raises, `UnknownGroup` if it leaves no group, and
        `StoreUnavailable`.
        """
        future: asyncio.Future[Committed] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, []).append((command, future))
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._run(name))
        return await future

    async def _run(self, name: str) -> None:
        """Commit for as long as commands come."""
        try:
            while name in self._waiting:
                await self._commit_waiting(name)
                await asyncio.sleep(0)  # over memory a commit awaits nothing
        finally:
            del self._running[name]

    async def _commit_waiting(self, name: str) -> None:
        waiting, loop = list[_Waiting](), asyncio.get_running_loop()
        try:
            if self._claims.worthwhile(name, len(self._waiting[name])):
                await self._claims.claim(name, self._commit_s)
            waiting, began = self._taken(name), loop.time()
            outcomes = await self._outcomes(name, [command for command, _ in waiting])
            self._commit_s = loop.time() - began
        except Exception as error:  # any error must reach the callers, or they would wait for ever
            waiting = waiting or self._taken(name)
            outcomes = [error] * len(waiting)
        for (_, future), outcome in zip(waiting, outcomes, strict=True):
            if future.done():  # its caller was cancelled
                continue
            if isinstance(outcome, Committed):
                future.set_result(outcome)
            else:
                future.set_exception(outcome)

    def _taken(self, name: str) -> list[_Waiting]:
        """Return the commands of the next commit: the first of those that wait, with `AT_ONCE`
        reports or other commands at most, unless the first alone has more. The others go on
        waiting.
        """
        waiting = self._waiting.pop(name)
        if len(waiting) == 1:  # most often
            return waiting
        weights = accumulate(len(command.items) if isinstance(command, Reports) else 1 for command, _ in waiting)
        fit = max(1, bisect_right(list(weights), AT_ONCE))
        if fit < len(waiting):
            self._waiting[name] = waiting[fit:]
        return waiting[:fit]

    async def _outcomes(self, name: str, commands: list[Command]) -> list[Committed | Exception]:
        """One for each command, once the group that they make is stored."""
        self.commits, self.commands = self.commits + 1, self.commands + len(commands)
        loaded = self._store.cached(name)
        if loaded is None or _is_heavy(commands, loaded):
            loaded = await self._store.load(name)
        attempts = self.persistence.attempts(f"group {name!r}")
        while True:
            group, owns = _applied(loaded, commands)
            committed = None
            if group is not None:
                hearing = self._pulse.hearing(loaded.now_ms)
                group, event = evaluate(group, loaded.now_ms, hearing)
                committed = Committed(group, group, event, loaded.now_ms, hearing=hearing)
            instead = await self._stored(loaded, group, attempts.reserve_ms)
            if instead is None:
                attempts.got_through()
                return self._answers(name, owns, committed)
            # The same version means that only the cached time was off: no other process is at work.
            overtaken = instead.version != loaded.version
            if overtaken:
                self._claims.refused(name)
            attempts.refused(overtaken=overtaken)
            loaded = instead  # again at once: the older it gets, the likelier is another refusal

    async def _stored(self, loaded: Loaded, group: Group | None, reserve_ms: int) -> Loaded | None:
        """None if the store now holds `group`; else what it holds instead. An unchanged group is
        not written, but a cached one has to be confirmed.
        """
        if group is not None and group is not loaded.group:
            return await self._store.commit(loaded, group, reserve_ms)
        return None if loaded.confirmed else await self._store.load(loaded.name)

    def _answers(self, name: str, owns: list[_Own], committed: Committed | None) -> list[Committed | Exception]:
        if committed is None:
            return [own if isinstance(own, Exception) else UnknownGroup(name) for own in owns]
        self._announce(committed)
        return [_outcome(own, committed) if own else committed for own in owns]


def _outcome(own: _Own, committed: Committed) -> Committed | Exception:
    if isinstance(own, Exception):
        return own
    return replace(committed, own=own) if isinstance(own, Group) else replace(committed, refusals=own)


def _applied(loaded: Loaded, commands: list[Command]) -> tuple[Group | None, list[_Own]]:
    """Return the group after all commands, and the outcome of each command: the group right after
    it, its refusal, or for reports the refusal of each refused one.
    """
    group, owns = loaded.group, list[_Own]()
    if group is not None and loaded.leaps:
        group = after_leaps(group, loaded.leaps)
    for are_reports, neighbours in groupby(commands, key=_is_reports):
        if are_reports:
            group, outcomes = _reported(loaded, group, cast("list[Reports]", list(neighbours)))
            owns += outcomes
            continue
        for command in cast("Iterable[Change]", neighbours):
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


def _is_heavy(commands: list[Command], cached: Loaded) -> bool:
    """Return whether the commit takes so long that the store would refuse the cached time at its
    end. All the work would then be done twice.
    """
    group = cached.group
    if group is not None and len(group.readers) > HEAVY:
        first = first_lease_end(group)
        if silent_ms(group, cached.now_ms) or (first is not None and first <= cached.now_ms):
            return True
    return sum(len(command.items) for command in commands if isinstance(command, Reports)) > HEAVY


def _reported(loaded: Loaded, group: Group | None, commands: list[Reports]) -> tuple[Group | None, list[_Own]]:
    if group is None:
        return None, [UnknownGroup(loaded.name) for _ in commands]
    group, refusals = report_all(group, chain.from_iterable(reports.items for reports in commands), loaded.now_ms)
    return group, _shared(refusals, commands) if refusals else [_NONE_REFUSED] * len(commands)


def _shared(refusals: Mapping[int, Refused], commands: list[Reports]) -> list[_Own]:
    """Return the refusals of each command, with the index of the report within it."""
    ends = list(accumulate(len(reports.items) for reports in commands))
    shares = [dict[int, Refused]() for _ in commands]
    for index, refusal in refusals.items():
        which = bisect_right(ends, index)
        shares[which][index - ends[which] + len(commands[which].items)] = refusal
    return list[_Own](shares)


def in_parts(event: ProgressEvent) -> list[ProgressEvent]:
    """Return the event, or several with `AT_ONCE` of its splits each."""
    if len(event.splits) <= AT_ONCE:
        return [event]
    splits = list(event.splits.items())
    return [replace(event, splits=dict(splits[first : first + AT_ONCE])) for first in range(0, len(splits), AT_ONCE)]
