"""Announcing: who waits for a group's next revision is woken by it, wherever it comes from.

A revision moves by a command here (`announce`), by a command at another process, or by time alone,
when a lease, a wait or a new group's grace ends. For each group that somebody watches one follower
looks again at the next deadline and, where other processes share the store, twice in each update
interval: a look at an unchanged group is one short question, and needs nothing to be set up again
after the store was away. Nobody watches: nobody looks.

Nothing is queued for anybody. A watcher that is woken takes the newest event, and one that was busy
meanwhile finds it when it comes back: so a slow one misses what is outdated, costs no memory, and
delays nobody.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lockgate.errors import Refused
from lockgate.group.alignment import next_deadline
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_coordinator.service.turns import Turn
from lockgate_coordinator.store import StoreUnavailable

log = logging.getLogger("lockgate")

HEARTBEAT_S = 10.0
"""How often a follower of an unchanged group is told that nothing has changed: proxies cut what is
silent for longer.
"""

LOOK_AGAIN_S = 1.0
"""How soon a store that was away is asked again."""


class TooManyWatchers(Exception):
    """As many wait here as the operator lets."""


class _Watcher:
    """One who waits. Woken while it is busy, it finds out by itself."""

    __slots__ = ("_woken",)

    def __init__(self) -> None:
        self._woken: asyncio.Future[None] | None = None

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)

    async def sleep(self) -> None:
        self._woken = asyncio.get_running_loop().create_future()
        try:
            await self._woken
        finally:
            self._woken = None


@dataclass(slots=True, eq=False)
class _Watch:
    """One group that somebody watches. `failure` is why the last look failed, without its
    traceback: the frames there hold this, and whoever is told of it would add his. `poked`: look
    now.
    """

    watchers: set[_Watcher] = field(default_factory=set)
    newest: WatermarkAlignmentEvent | None = None
    failure: Exception | None = None
    beats: int = 0
    wakes_at: float | None = None
    poked: asyncio.Event = field(default_factory=asyncio.Event)
    follower: "asyncio.Task[None] | None" = None

    def tell(self) -> None:
        for watcher in self.watchers:
            watcher.wake()

    def above(self, revision: int) -> WatermarkAlignmentEvent | None:
        return self.newest if self.newest is not None and self.newest.revision > revision else None


class Announcer:
    """`look` evaluates a group now, and announces what it finds. `shared`: other processes may
    change groups. `limit`: of watchers.
    """

    def __init__(self, look: Callable[[str], Awaitable[Turn]], *, shared: bool, limit: int) -> None:
        self.watchers = 0
        self._look = look
        self._shared = shared
        self._limit = limit
        self._watches: dict[str, _Watch] = {}
        self._closing = False

    def announce(self, turn: Turn) -> None:
        """A group as it stands now. Older revisions than the newest known are no news."""
        watch = self._watches.get(turn.group.name)
        if watch is None:
            return
        watch.failure = None
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
        """The first event above revision `after`; None when the time ran out or the service ends.
        Raises what `look` raises.

        Raises `TooManyWatchers`.
        """
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            watcher.wake()

        with self._watching(name) as (watch, watcher):
            timer = asyncio.get_running_loop().call_later(wait_ms / 1000, expire)
            try:
                while not self._closing:
                    if watch.failure is not None:
                        raise watch.failure.with_traceback(None)
                    event = watch.above(after)
                    if event is not None or expired:
                        return event
                    await watcher.sleep()
                return None
            finally:
                timer.cancel()

    async def follow(self, name: str, after: int) -> AsyncGenerator[WatermarkAlignmentEvent | None, None]:
        """The newest event whenever it is above what was given before, and None at each heartbeat.
        Ends with the group or the service.

        A store that is away is waited for: the follower is told of nothing, for nothing is known.
        """
        with self._watching(name) as (watch, watcher):
            beats = watch.beats
            while not (self._closing or isinstance(watch.failure, Refused)):
                event = watch.above(after)
                if event is not None:
                    after = event.revision
                    yield event
                elif watch.beats > beats:
                    yield None
                else:
                    await watcher.sleep()
                    continue
                beats = watch.beats

    def check_room(self) -> None:
        """Raises `TooManyWatchers` if as many wait as may."""
        if self.watchers >= self._limit:
            raise TooManyWatchers(
                f"{self._limit} streams and long polls wait here already: ask again later, or another coordinator"
            )

    def close(self) -> None:
        """Ends all waiting at once, as if the time had run out."""
        self._closing = True
        for watch in self._watches.values():
            watch.tell()

    @contextmanager
    def _watching(self, name: str) -> Iterator[tuple[_Watch, _Watcher]]:
        self.check_room()
        watch, watcher = self._watches.get(name), _Watcher()
        if watch is None:
            watch = self._watches[name] = _Watch()
            watch.follower = asyncio.create_task(self._keep_looking(name, watch))
        watch.watchers.add(watcher)
        self.watchers += 1
        try:
            yield watch, watcher
        finally:
            self.watchers -= 1
            watch.watchers.discard(watcher)
            if not watch.watchers and watch.follower is not None:
                watch.follower.cancel()
                self._drop(name, watch)

    def _drop(self, name: str, watch: _Watch) -> None:
        if self._watches.get(name) is watch:
            del self._watches[name]

    async def _keep_looking(self, name: str, watch: _Watch) -> None:
        """A group that is gone ends its watch with all its watchers: whoever asks again begins a
        new one.
        """
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + HEARTBEAT_S
        while True:
            watch.poked.clear()
            try:
                watch.wakes_at = self._next_look(await self._look(name))
            except Refused as failure:
                watch.failure = failure.with_traceback(None)
                self._drop(name, watch)
                watch.tell()
                return
            except Exception as failure:  # a fault, too: if it ended the follower, all who watch would wait for ever
                if not isinstance(failure, StoreUnavailable) and type(failure) is not type(watch.failure):
                    log.exception("group %s: a look at it has failed, and is repeated", name)
                watch.failure, watch.wakes_at = failure.with_traceback(None), loop.time() + LOOK_AGAIN_S
                watch.tell()
            if loop.time() >= beat_at:
                beat_at = loop.time() + HEARTBEAT_S
                watch.beats += 1
                watch.tell()
            await _set_before(watch.poked, min(beat_at, watch.wakes_at or beat_at) - loop.time())

    def _next_look(self, turn: Turn) -> float | None:
        deadline = next_deadline(turn.group, turn.now_ms)
        pauses = [] if deadline is None else [deadline - turn.now_ms]
        if self._shared:
            pauses.append(turn.group.config.update_interval_ms // 2)
        return asyncio.get_running_loop().time() + min(pauses) / 1000 if pauses else None


async def _set_before(event: asyncio.Event, seconds: float) -> None:
    """Returns when the event is set, or after so many seconds."""
    if seconds > 0:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
