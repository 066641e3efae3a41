"""The announcer wakes the watchers of a group when its revision rises, whatever the cause.

A revision rises by a command here (`announce`), by a command at another process, or by time alone,
when a lease, a wait or a new group's grace ends. So each watched group has one follower. It looks
at the group at the next deadline and, where other processes share the store, twice in each update
interval. A look at an unchanged group is one short question, which also works right after an outage
of the store. A group without watchers has no follower.

A store that goes back in time takes announced revisions along. The next look then gives the group a
revision above them, so that watchers hear what is true now.

No events are queued. A woken watcher takes the newest event, and a busy one finds it when it comes
back. So a slow watcher misses outdated events only, costs no memory, and delays no other.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lockgate.errors import Refused
from lockgate.group.alignment import next_deadline
from lockgate.group.commands import BEFORE_ALL_REVISIONS, Refresh
from lockgate.group.turn import Turn
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_coordinator.listeners import TurnListener
from lockgate_coordinator.service.commit_queue import CommitQueue
from lockgate_coordinator.store import StoreUnavailable

log = logging.getLogger("lockgate")

HEARTBEAT_S = 10.0
"""How often an event stream of an unchanged group gets a heartbeat: proxies cut silent connections.
"""

LOOK_AGAIN_S = 1.0
"""How soon the follower looks again after a failure."""


class TooManyWatchers(Exception):
    """The operator's limit on watchers is reached."""


class _Watcher:
    """One waiting long poll or stream. A wake-up while it is busy is not kept: it looks for news
    before it sleeps.
    """

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
    """A watched group. `failure` is why the last look failed. It is stored without its traceback:
    the frames there would keep this object alive, and each re-raise adds more. `look_now` is set
    when the follower should not wait.
    """

    watchers: set[_Watcher] = field(default_factory=set)
    newest: WatermarkAlignmentEvent | None = None
    failure: Exception | None = None
    beats: int = 0
    wakes_at: float | None = None
    look_now: asyncio.Event = field(default_factory=asyncio.Event)
    follower: "asyncio.Task[None] | None" = None

    def wake_all(self) -> None:
        for watcher in self.watchers:
            watcher.wake()

    def above(self, revision: int) -> WatermarkAlignmentEvent | None:
        return self.newest if self.newest is not None and self.newest.revision > revision else None


class Announcer(TurnListener):
    """Wakes watchers by the turns that it hears of, and refreshes watched groups by `queue`.

    `shared`: other processes may change groups. `limit` is the number of watchers.
    """

    def __init__(self, queue: CommitQueue, *, shared: bool, limit: int) -> None:
        self.watchers = 0
        self._queue = queue
        self._shared = shared
        self._limit = limit
        self._watches: dict[str, _Watch] = {}
        self._closing = False

    def turned(self, turn: Turn) -> None:
        """Wake the watchers of the group, if the event is newer than the newest known one."""
        watch = self._watches.get(turn.name)
        if watch is None:
            return
        watch.failure = None
        if watch.newest is None or turn.event.revision > watch.newest.revision:
            watch.newest = turn.event
            watch.wake_all()
        wakes_at = self._next_look(turn)
        if wakes_at is not None and (watch.wakes_at is None or wakes_at < watch.wakes_at):
            watch.look_now.set()

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Make the follower look at once, so that watchers learn that the group is gone."""
        watch = self._watches.get(group)
        if watch is not None:
            watch.look_now.set()

    async def wait(self, name: str, after: int, wait_ms: int) -> WatermarkAlignmentEvent | None:
        """Return the newest event above revision `after`; None when the time ran out or the service
        ends.

        Raises `TooManyWatchers`, and what a `Refresh` raises.
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
        """Yield the newest event whenever it is above the last one given, and None at each
        heartbeat. Ends with the group or the service. An outage of the store does not end it.
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
        """Raise `TooManyWatchers` if the limit is reached."""
        if self.watchers >= self._limit:
            raise TooManyWatchers(
                f"{self._limit} streams and long polls are already open: try again later, or use another coordinator"
            )

    async def close(self) -> None:
        self.end_waiting()

    def end_waiting(self) -> None:
        """End all waiting at once, as if the time had run out."""
        self._closing = True
        for watch in self._watches.values():
            watch.wake_all()

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
        """Follow one group. It ends with the group; a later watcher starts a new one."""
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + HEARTBEAT_S
        while True:
            watch.look_now.clear()
            try:
                announced = watch.newest.revision if watch.newest is not None else BEFORE_ALL_REVISIONS
                turn, _ = await self._queue.submit(name, Refresh(announced))
                watch.wakes_at = self._next_look(turn)
            except Refused as failure:
                watch.failure = failure.with_traceback(None)
                self._drop(name, watch)
                watch.wake_all()
                return
            except Exception as failure:  # any fault: if it ended the follower, its watchers would wait for ever
                if not isinstance(failure, StoreUnavailable) and type(failure) is not type(watch.failure):
                    log.exception("group %s: evaluation failed; trying again", name)
                watch.failure, watch.wakes_at = failure.with_traceback(None), loop.time() + LOOK_AGAIN_S
                watch.wake_all()
            if loop.time() >= beat_at:
                beat_at = loop.time() + HEARTBEAT_S
                watch.beats += 1
                watch.wake_all()
            await _set_before(watch.look_now, min(beat_at, watch.wakes_at or beat_at) - loop.time())

    def _next_look(self, turn: Turn) -> float | None:
        deadline = next_deadline(turn.group, turn.now)
        pauses = [] if deadline is None else [deadline - turn.now.ms]
        if self._shared:
            pauses.append(turn.group.config.update_interval_ms // 2)
        return asyncio.get_running_loop().time() + min(pauses) / 1000 if pauses else None


async def _set_before(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set, or after so many seconds."""
    if seconds > 0:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
