"""The announcer, which wakes the long polls and event streams of a group (its *watchers*).

Watchers are woken when the revision of the group rises, and the streams of readers also when their
splits change. A revision rises when a command changes the group's event, in this process or another
one. It also rises as time passes, when a lease, a wait or the grace of a new group ends. Splits
change when a reader exchanges its splits with this process or another one.

Therefore each watched group has a follower, a task that checks the group at the group's next
deadline. If other processes share the store, the follower also checks twice in each update
interval. As soon as a reader's stream is open, the follower checks the splits as well. Checking an
unchanged group takes one short request to the store. A group without watchers has no follower.

If the store loses its latest commits, revisions that were already announced are lost too. The next
check then gives the group a revision above them, so that watchers get the current event.

No events are queued. A woken watcher takes the newest event. A watcher that is still sending an
event takes the newest one afterwards. So a slow watcher misses only outdated events, uses no memory
for them, and does not delay the others.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.errors import Refused
from lockgate.group.alignment import next_deadline
from lockgate.group.commands import BEFORE_ALL_REVISIONS, Refresh
from lockgate.group.turn import Turn
from lockgate.steps import parts
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_coordinator.listeners import TurnListener
from lockgate_coordinator.service.commit_queue import CommitQueue
from lockgate_coordinator.store import Store, StoreUnavailable

log = logging.getLogger("lockgate")

News = WatermarkAlignmentEvent | Enumerator | None
"""An item of an event stream. None is a heartbeat."""

HEARTBEAT_S = 10.0
"""The seconds between heartbeats in a stream without events. Proxies cut silent connections."""

LOOK_AGAIN_S = 1.0
"""The seconds for which a follower waits after a failed check."""


class TooManyWatchers(Exception):
    """The limit on event streams and long polls (`--max-subscribers`) is reached."""


@dataclass(slots=True, eq=False)
class _Watch:
    """A watched group.

    Attributes:
        watchers: An event for each long poll and stream, which is set when there may be news.
        newest: The event with the highest revision so far.
        with_splits: Whether a reader's stream has been opened, so that splits are checked too.
        enumerators: The split enumerators of the group's sources, as of the last check of splits.
        epochs: A cache of the newest epochs in `enumerators`, by source and subtask.
        failure: The error of the last check, if it failed. Its traceback is removed, because the
            frames in it would keep this object alive, and each `raise` would add frames.
        beats: The number of heartbeats so far.
        wakes_at: The time of the next check by the event loop's clock, or None without a deadline.
        look_now: An event that is set when the follower should check at once.
        follower: The task that checks the group.
    """

    watchers: set[asyncio.Event] = field(default_factory=set)
    newest: WatermarkAlignmentEvent | None = None
    with_splits: bool = False
    enumerators: Mapping[str, Enumerator] = field(default_factory=dict)
    epochs: dict[str, dict[int, int]] = field(default_factory=dict)
    failure: Exception | None = None
    beats: int = 0
    wakes_at: float | None = None
    look_now: asyncio.Event = field(default_factory=asyncio.Event)
    follower: "asyncio.Task[None] | None" = None

    def wake_all(self) -> None:
        for woken in self.watchers:
            woken.set()

    def above(self, revision: int) -> WatermarkAlignmentEvent | None:
        return self.newest if self.newest is not None and self.newest.revision > revision else None

    def is_replaced(self, source: str, reader: ReaderId | None) -> bool:
        """Return whether a newer epoch of `reader` has requested splits. Return False if `reader`
        is None.
        """
        if source not in self.epochs and source in self.enumerators:
            self.epochs[source] = self.enumerators[source].newest()
        return reader is not None and self.epochs.get(source, {}).get(reader[0], 0) > reader[1]


class Announcer(TurnListener):
    """A listener that wakes the watchers of a group when it changes. At most `limit` may wait."""

    def __init__(self, store: Store, queue: CommitQueue, *, limit: int) -> None:
        self.watchers = 0
        self._store, self._queue, self._limit = store, queue, limit
        self._watches: dict[str, _Watch] = {}
        self._closing = False

    def turned(self, turn: Turn) -> None:
        """Wake the group's watchers if the turn's event has a higher revision than the last event.
        If the group has an earlier deadline now, make the follower check at once.
        """
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

    def splits_changed(self, group: str, source: str, before: Enumerator | None, after: Enumerator) -> None:
        """Make the follower check the splits at once if a reader's stream is open."""
        watch = self._watches.get(group)
        if watch is not None and watch.with_splits:
            watch.look_now.set()

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Handle the deletion of `group`: wake the task that watches it, so that its open polls and
        streams end.
        """
        watch = self._watches.get(group)
        if watch is not None:
            watch.look_now.set()

    async def wait(self, name: str, after: int, wait_ms: int) -> WatermarkAlignmentEvent | None:
        """Return the group's newest event once its revision is above `after`.

        Return None if this does not happen within `wait_ms`, or if the service stops. Raises
        `TooManyWatchers`, and the errors of a `Refresh`.
        """
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            woken.set()

        with self._watching(name) as (watch, woken):
            timer = asyncio.get_running_loop().call_later(wait_ms / 1000, expire)
            try:
                while not self._closing:
                    woken.clear()
                    if watch.failure is not None:
                        raise watch.failure.with_traceback(None)
                    event = watch.above(after)
                    if event is not None or expired:
                        return event
                    await woken.wait()
                return None
            finally:
                timer.cancel()

    async def follow(
        self, name: str, after: int, of_reader: tuple[str, ReaderId] | None = None
    ) -> AsyncGenerator[News, None]:
        """Yield the group's newest event once its revision is above `after`, and again each time
        that the revision rises.

        None is a heartbeat. The stream ends when the group is deleted or the service stops, but
        continues through outages of the store. Raises `TooManyWatchers`.

        `of_reader` names a source and one of its readers, by subtask and epoch. If it is set, the
        source's enumerator is also yielded, at once and after each change. The stream then also
        ends once a newer epoch of the subtask has exchanged its splits.
        """
        source, reader = of_reader or ("", None)
        with self._watching(name) as (watch, woken):
            if reader is not None and not watch.with_splits:
                watch.with_splits = True
                watch.look_now.set()
            beats, sent = watch.beats, None
            while not (self._closing or isinstance(watch.failure, Refused) or watch.is_replaced(source, reader)):
                woken.clear()
                event, enumerator = watch.above(after), watch.enumerators.get(source)
                if enumerator is not sent:
                    sent = enumerator
                    yield enumerator
                elif event is not None:
                    after = event.revision
                    yield event
                elif watch.beats > beats:
                    yield None
                else:
                    await woken.wait()
                    continue
                beats = watch.beats

    def check_room(self) -> None:
        """Raise `TooManyWatchers` if there are as many watchers as the limit allows."""
        if self.watchers >= self._limit:
            raise TooManyWatchers(
                f"{self._limit} streams and long polls are already open: try again later, or use another coordinator"
            )

    async def close(self) -> None:
        self.end_waiting()

    def end_waiting(self) -> None:
        """End all long polls and event streams at once."""
        self._closing = True
        for watch in self._watches.values():
            watch.wake_all()

    @contextmanager
    def _watching(self, name: str) -> Iterator[tuple[_Watch, asyncio.Event]]:
        self.check_room()
        watch, woken = self._watches.get(name), asyncio.Event()
        if watch is None:
            watch = self._watches[name] = _Watch()
            watch.follower = asyncio.create_task(self._keep_looking(name, watch))
        watch.watchers.add(woken)
        self.watchers += 1
        try:
            yield watch, woken
        finally:
            self.watchers -= 1
            watch.watchers.discard(woken)
            if not watch.watchers and watch.follower is not None:
                watch.follower.cancel()
                self._drop(name, watch)

    def _drop(self, name: str, watch: _Watch) -> None:
        if self._watches.get(name) is watch:
            del self._watches[name]

    async def _keep_looking(self, name: str, watch: _Watch) -> None:
        """Check the group whenever a check is due, and send heartbeats, until it is deleted."""
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + HEARTBEAT_S
        while True:
            watch.look_now.clear()
            try:
                if watch.with_splits:
                    await self._look_at_splits(name, watch)
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
                    log.exception("cannot compute the alignment of group %s; trying again", name)
                watch.failure, watch.wakes_at = failure.with_traceback(None), loop.time() + LOOK_AGAIN_S
                watch.wake_all()
            if loop.time() >= beat_at:
                beat_at = loop.time() + HEARTBEAT_S
                watch.beats += 1
                watch.wake_all()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(watch.look_now.wait(), min(beat_at, watch.wakes_at or beat_at) - loop.time())

    async def _look_at_splits(self, name: str, watch: _Watch) -> None:
        """Load the group's splits, and wake all watchers if they have changed.

        The watchers are woken some at a time, so that other requests are served meanwhile. If the
        splits cannot be read, nothing is done, and watchers still get the group's events.
        """
        with suppress(StoreUnavailable):
            loaded = await self._store.load_splits(name)
            if watch.enumerators is not loaded.sources:
                watch.enumerators, watch.epochs = loaded.sources, {}
                for some in parts(list(watch.watchers)):
                    for woken in some:
                        woken.set()
                    await asyncio.sleep(0)

    def _next_look(self, turn: Turn) -> float | None:
        deadline = next_deadline(turn.group, turn.now)
        pauses = [] if deadline is None else [deadline - turn.now.ms]
        if self._store.shared:
            pauses.append(turn.group.config.update_interval_ms // 2)
        return asyncio.get_running_loop().time() + min(pauses) / 1000 if pauses else None
