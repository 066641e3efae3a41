"""Announcing: who waits for a group's next revision is woken by it, wherever it comes from.

A revision moves by a command here (`announce`), by a command at another process, or by time alone, when a lease or a new group's
grace ends. For each group that somebody waits for one follower looks again at the next deadline and, where other processes share
the store, twice in each update interval: a look at an unchanged group is one short question, and needs nothing to be set up
again after the store was away. Nobody waits: nobody looks.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from lockgate.alignment import next_deadline
from lockgate.errors import Refused
from lockgate.events import WatermarkAlignmentEvent
from lockgate_coordinator.service.turns import Turn
from lockgate_coordinator.store import StoreUnavailable


@dataclass(slots=True)
class _Watch:
    """One group that somebody waits for. `changed` is set, and replaced, with each news; `poked`: look now."""

    waiters: int = 0
    newest: WatermarkAlignmentEvent | None = None
    failure: Refused | StoreUnavailable | None = None
    wakes_at: float | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    poked: asyncio.Event = field(default_factory=asyncio.Event)
    follower: "asyncio.Task[None] | None" = None

    def tell(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Announcer:
    """`look` evaluates a group now, and announces what it finds. `shared`: other processes may change groups."""

    def __init__(self, look: Callable[[str], Awaitable[Turn]], *, shared: bool) -> None:
        self._look = look
        self._shared = shared
        self._watches: dict[str, _Watch] = {}
        self._closing = False

    def announce(self, turn: Turn) -> None:
        """A group as it stands now. Older revisions than the newest known are no news."""
        watch = self._watches.get(turn.group.name)
        if watch is None:
            return
        if watch.newest is None or turn.event.revision > watch.newest.revision:
            watch.newest = turn.event
            watch.tell()
        wakes_at = self._next_look(turn)
        if wakes_at is not None and (watch.wakes_at is None or wakes_at < watch.wakes_at):
            watch.poked.set()

    def deleted(self, name: str) -> None:
        """Whoever waits for the group is to learn that it is gone."""
        watch = self._watches.get(name)
        if watch is not None:
            watch.poked.set()

    async def wait(self, name: str, after: int, wait_ms: int) -> WatermarkAlignmentEvent | None:
        """The first event above revision `after`; None when the time ran out or the service ends. Raises what `look` raises."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_ms / 1000
        watch = self._enter(name)
        try:
            while not self._closing:
                if watch.failure is not None:
                    raise watch.failure
                if watch.newest is not None and watch.newest.revision > after:
                    return watch.newest
                if not await _set_before(watch.changed, until - loop.time()):
                    return None
            return None
        finally:
            self._exit(name, watch)

    def close(self) -> None:
        """Ends all waiting at once, as if the time had run out."""
        self._closing = True
        for watch in self._watches.values():
            watch.tell()

    def _enter(self, name: str) -> _Watch:
        watch = self._watches.get(name)
        if watch is None:
            watch = self._watches[name] = _Watch()
            watch.follower = asyncio.create_task(self._follow(name, watch))
        watch.waiters += 1
        return watch

    def _exit(self, name: str, watch: _Watch) -> None:
        watch.waiters -= 1
        if watch.waiters == 0:
            if watch.follower is not None:
                watch.follower.cancel()
            self._drop(name, watch)

    def _drop(self, name: str, watch: _Watch) -> None:
        if self._watches.get(name) is watch:
            del self._watches[name]

    async def _follow(self, name: str, watch: _Watch) -> None:
        """A failure ends the watch with all its waiters: whoever asks again begins a new one."""
        loop = asyncio.get_running_loop()
        while True:
            watch.poked.clear()
            try:
                turn = await self._look(name)
            except (Refused, StoreUnavailable) as failure:
                watch.failure = failure
                self._drop(name, watch)
                watch.tell()
                return
            watch.wakes_at = self._next_look(turn)
            await _set_before(watch.poked, None if watch.wakes_at is None else watch.wakes_at - loop.time())

    def _next_look(self, turn: Turn) -> float | None:
        deadline = next_deadline(turn.group, turn.now_ms)
        pauses = [] if deadline is None else [deadline - turn.now_ms]
        if self._shared:
            pauses.append(turn.group.config.update_interval_ms // 2)
        return asyncio.get_running_loop().time() + min(pauses) / 1000 if pauses else None


async def _set_before(event: asyncio.Event, seconds: float | None) -> bool:
    if seconds is not None and seconds <= 0:
        return event.is_set()
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True
