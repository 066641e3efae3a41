"""News of splits for the event streams of readers.

An enumerator changes by an exchange here, or at another process. So each group with such a stream
has one follower, which looks when this process has changed something, and twice in each interval of
reports where other processes share the store. An unchanged state costs one short question. As with
the group's own events (`announcer`) nothing is queued: a slow stream finds the newest value.

A reader's stream has the group's events as well. It ends with these: when the group or the service
is gone. It also ends where a newer epoch of the reader has had an exchange.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.errors import Refused
from lockgate.steps import parts
from lockgate.wire.events import WatermarkAlignmentEvent
from lockgate_coordinator.listeners import TurnListener
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.store import Store, StoreUnavailable
from lockgate_coordinator.store.base import LoadedSplits

Events = AsyncGenerator[WatermarkAlignmentEvent | None, None]
News = WatermarkAlignmentEvent | Enumerator | None


@dataclass(eq=False)
class _Stream:
    """What one stream is to send next. `event` and `enumerator`: the newest one, once unsent."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)
    event: WatermarkAlignmentEvent | None = None
    beat: bool = False
    ended: bool = False


@dataclass(eq=False)
class _Watch:
    """A group whose splits are followed. `epochs`: the newest ones in `newest`, of each source."""

    streams: set[_Stream] = field(default_factory=set)
    newest: LoadedSplits | None = None
    epochs: dict[str, dict[int, int]] = field(default_factory=dict)
    look_now: asyncio.Event = field(default_factory=asyncio.Event)
    follower: "asyncio.Task[None] | None" = None


class EnumeratorNews(TurnListener):
    """Wakes the streams of readers when an enumerator changes. `in_turn` is for what the streams
    make of their news.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watches: dict[str, _Watch] = {}
        self.in_turn = InTurn()

    def splits_changed(self, group: str, source: str, before: Enumerator | None, after: Enumerator) -> None:
        """Make the follower of the group look at once."""
        watch = self._watches.get(group)
        if watch is not None:
            watch.look_now.set()

    async def follow(
        self, name: str, source: str, reader: ReaderId, events: Events, interval_s: float
    ) -> AsyncGenerator[News, None]:
        """Return the news of one reader, until `events` end or a newer epoch comes. `interval_s`:
        how often to look where other processes share the store.
        """
        watch, stream = self._watching(name, interval_s), _Stream()
        watch.streams.add(stream)
        pump = asyncio.create_task(_pump(events, stream))
        try:
            sent: Enumerator | None = None
            while not stream.ended:
                stream.woken.clear()
                if stream.event is not None:
                    event, stream.event = stream.event, None
                    yield event
                enumerator = None if watch.newest is None else watch.newest.sources.get(source)
                if enumerator is not None and enumerator is not sent:
                    epochs = watch.epochs.get(source)
                    if epochs is None:
                        epochs = watch.epochs[source] = enumerator.newest()
                    if epochs.get(reader[0], 0) > reader[1]:
                        return
                    sent = enumerator
                    yield enumerator
                if stream.beat:
                    stream.beat = False
                    yield None
                await stream.woken.wait()
        finally:
            pump.cancel()
            with suppress(asyncio.CancelledError):
                await pump
            self._leave(name, watch, stream)

    def _watching(self, name: str, interval_s: float) -> _Watch:
        watch = self._watches.get(name)
        if watch is None:
            watch = self._watches[name] = _Watch()
            watch.follower = asyncio.create_task(self._keep_looking(name, watch, interval_s))
        return watch

    def _leave(self, name: str, watch: _Watch, stream: _Stream) -> None:
        watch.streams.discard(stream)
        if not watch.streams and watch.follower is not None:
            watch.follower.cancel()
            if self._watches.get(name) is watch:
                del self._watches[name]

    async def _keep_looking(self, name: str, watch: _Watch, interval_s: float) -> None:
        """Follow one group. An outage of the store does not end it."""
        while True:
            watch.look_now.clear()
            with suppress(StoreUnavailable, Refused):
                loaded = await self._store.load_splits(name)
                if watch.newest is None or watch.newest.sources is not loaded.sources:
                    watch.newest, watch.epochs = loaded, {}
                    for streams in parts(list(watch.streams)):
                        for stream in streams:
                            stream.woken.set()
                        await asyncio.sleep(0)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(watch.look_now.wait(), interval_s if self._store.shared else None)


async def _pump(events: Events, stream: _Stream) -> None:
    """Bring the group's events to a stream."""
    try:
        async with aclosing(events):
            async for event in events:
                if event is None:
                    stream.beat = True
                else:
                    stream.event = event
                stream.woken.set()
    finally:
        stream.ended = True
        stream.woken.set()
