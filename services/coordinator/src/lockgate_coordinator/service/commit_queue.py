"""The commit queue, in which commands for a group wait and are committed together in one turn.

    cached or loaded group → turn with all waiting commands → commit → listeners → answers
                 ↑                                              │
                 └──────── the store has another version ───────┘

Commands that arrive during a commit wait for the next turn, which takes one evaluation and mostly
one round trip for all of them. So a burst of reports takes a few commits and not one for each, and
two processes seldom collide. No command is answered before its result is stored. If nothing has
changed, the store first has to confirm that it still has the group that the turn was based on.
`lockgate.group.turn` explains a turn.

`persistence` reserves the group for a commit that other processes keep overtaking.
"""

import asyncio
from bisect import bisect_right
from itertools import accumulate

from lockgate.group.commands import Command, Outcome, Reports
from lockgate.group.turn import Turn, turn
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.listeners import Listeners
from lockgate_coordinator.service.persistence import Attempts, Persistence
from lockgate_coordinator.service.stalls import StallDetector
from lockgate_coordinator.store import Loaded, Store

COMMANDS_OF_A_TURN = 1_000
"""The maximum number of reports and other commands in a turn. This many take about 15 ms."""

READINGS_OF_A_TURN = 16
"""The maximum number of event-loop iterations for which a turn waits for more commands."""

PAUSE_S = 0.002
"""The longest pause in seconds between two consecutive turns of a group in a shared store. A turn
there takes about 0.5 ms of processor time besides that of its commands, so a busy group should have
few large ones.
"""

_Waiting = tuple[Command, "asyncio.Future[tuple[Turn, Outcome]]"]


class CommitQueue:
    """A queue that runs one commit at a time for each group. `commits` and `commands` count turns
    and their commands since the start.
    """

    def __init__(self, store: Store, stalls: StallDetector, limits: Limits, listeners: Listeners) -> None:
        self._store, self._stalls, self._limits, self._listeners = store, stalls, limits, listeners
        self._waiting: dict[str, list[_Waiting]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._pauses: dict[str, tuple[int, asyncio.Future[None]]] = {}
        self.persistence = Persistence()
        self.commits = self.commands = 0

    def submit(self, name: str, command: Command) -> "asyncio.Future[tuple[Turn, Outcome]]":
        """Execute `command` on the group `name`. The returned future gets the turn and the outcome
        of the command. If the outcome is an error, the future raises it. It raises
        `StoreUnavailable` if the turn cannot be stored.
        """
        future: asyncio.Future[tuple[Turn, Outcome]] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(name, [])
        waiting.append((command, future))
        if name not in self._running:
            self._running[name] = asyncio.create_task(self._run(name))
        elif name in self._pauses and len(waiting) >= self._pauses[name][0]:
            _end(self._pauses[name][1])
        return future

    async def _run(self, name: str) -> None:
        """Commit turns of the group until no command waits."""
        try:
            while name in self._waiting:
                await self._gather(name)
                answered = await self._commit_waiting(name)
                if self._store.shared and name in self._waiting:
                    await self._pause(name, answered + len(self._waiting[name]))
        finally:
            del self._running[name]

    async def _pause(self, name: str, enough: int) -> None:
        """Return once `enough` commands wait for the group, or after `PAUSE_S`. `enough` includes
        one more command of each caller that has just been answered.
        """
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        self._pauses[name] = (enough, ended)
        timer = loop.call_later(PAUSE_S, _end, ended)
        await ended
        timer.cancel()
        del self._pauses[name]

    async def _gather(self, name: str) -> None:
        """Wait for more commands of the group, so that requests that arrive together share a turn.
        Stop once an iteration of the event loop, which reads the sockets, brings no further
        command.
        """
        before = 0
        for _ in range(READINGS_OF_A_TURN):
            waiting = len(self._waiting[name])
            if waiting == before:
                break
            before = waiting
            await asyncio.sleep(0)

    async def _commit_waiting(self, name: str) -> int:
        """Commit one turn, answer its commands, and return their number."""
        waiting = self._taken(name)
        try:
            done = await self._committed(name, [command for command, _ in waiting])
        except Exception as error:  # any error must reach the callers, or they would wait for ever
            for _, future in waiting:
                if not future.done():
                    future.set_exception(error)
            return len(waiting)
        for (_, future), outcome in zip(waiting, done.outcomes, strict=True):
            if future.done():  # its caller was cancelled
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result((done, outcome))
        return len(waiting)

    def _taken(self, name: str) -> list[_Waiting]:
        """Remove the commands of the next turn from the queue and return them. Each report counts
        as one command. A turn has at most `COMMANDS_OF_A_TURN`, unless its first command alone has
        more.
        """
        waiting = self._waiting.pop(name)
        if len(waiting) == 1:  # most often
            return waiting
        weights = accumulate(len(command.items) if isinstance(command, Reports) else 1 for command, _ in waiting)
        fit = max(1, bisect_right(list(weights), COMMANDS_OF_A_TURN))
        if fit < len(waiting):
            self._waiting[name] = waiting[fit:]
        return waiting[:fit]

    async def _committed(self, name: str, commands: list[Command]) -> Turn:
        """Execute the commands in one turn, store it, call the listeners, and return the turn.
        Repeat the turn while the store refuses it. Raises `StoreUnavailable` if the store still
        refuses it after `persistence.WITHIN_S` seconds.
        """
        self.commits, self.commands = self.commits + 1, self.commands + len(commands)
        loaded = self._store.cached(name) or await self._store.load(name)
        attempts = Attempts(self.persistence, f"group {name!r}")
        while True:
            now = self._stalls.now(loaded.now_ms, loaded.jumps)
            done = turn(loaded.group, commands, now, name=name, floor=loaded.version, limits=self._limits)
            instead = await self._stored(loaded, done, attempts.reserve_ms)
            if instead is None:
                attempts.got_through()
                if done.after is not None:
                    if done.after is not loaded.group:
                        self._listeners.stored(done, (loaded.version, loaded.next_version), lost=loaded.lost)
                    await self._listeners.turned(done)
                return done
            # With the same version, only the cached time was wrong: nobody else has committed.
            attempts.refused(overtaken=instead.version != loaded.version)
            loaded = instead  # again at once: the older it gets, the likelier is another refusal

    async def _stored(self, loaded: Loaded, done: Turn, reserve_ms: int) -> Loaded | None:
        """Store the group as it is after the turn, and return None. If the store has another
        version, return the state that it has instead. A turn that has changed nothing is not
        written. If it was based on a cached group, return the stored state, so that the turn is
        repeated with it.
        """
        if done.after is not None and done.after is not loaded.group:
            return await self._store.commit(loaded, done.after, reserve_ms)
        return None if loaded.confirmed else await self._store.load(loaded.name)


def _end(pause: "asyncio.Future[None]") -> None:
    if not pause.done():
        pause.set_result(None)
