"""What all processes of the virtual world share: a history, a network, credentials and an end."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from lockgate.wire.events import ReaderRegistrationEvent, ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate_coordinator.access.denials import Unauthorized
from lockgate_coordinator.service.coordinator import Coordinator
from support.fire.access import presented, shown
from support.fire.servers import Away, Link, now_ms

if TYPE_CHECKING:
    from support.fire.world import World

T = TypeVar("T")


class Process:
    """A process, with its own history, network and threads. `kill` and `stop` befall it."""

    def __init__(self, world: "World", source: str, subtask: int) -> None:
        self.world, self.source, self.subtask = world, source, subtask
        self.link, self.node = Link(world.chance), world.chance.randrange(len(world.nodes))
        self.credentials = shown(world.tokens)
        self.file = world.new_file(source)
        self.epoch: int | None = None
        self.heard: WatermarkAlignmentEvent | None = None
        self.slow_s = 0.0  # of its stream
        self.ended = False
        self._running = asyncio.Event()
        self._running.set()
        self._stopped_at = 0
        self._slow_since: int | None = None
        self._tasks = [asyncio.ensure_future(each) for each in self._threads()]

    def _threads(self) -> list[Awaitable[None]]:
        raise NotImplementedError

    @property
    def done(self) -> bool:
        return all(task.done() for task in self._tasks)

    def check(self) -> None:
        """Raise the error of a thread that has failed."""
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    def kill(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.end()

    def end(self) -> None:
        self.recover()
        self.ended = True

    def slow_down(self) -> None:
        """Note that the process hears late from now on, until it recovers or ends."""
        self._slow_since = self._slow_since or now_ms()

    def recover(self) -> None:
        if self._slow_since is not None:
            self.record("stalled", since=self._slow_since)
            self._slow_since = None

    def stop(self) -> None:
        if self._running.is_set():
            self._running.clear()
            self._stopped_at = now_ms()

    def go_on(self) -> None:
        if not self._running.is_set():
            self._running.set()
            self.record("stalled", since=self._stopped_at)

    def record(self, kind: str, **fields: Any) -> None:
        self.world.write(self.file, {"k": kind, "t": now_ms(), "group": self.world.group, **fields})

    async def pause(self, for_s: float) -> None:
        """Wait, and then for as long as the process is stopped."""
        await asyncio.sleep(for_s)
        await self._running.wait()

    async def call(self, what: Callable[[Coordinator], Awaitable[T]], follows: bool = False) -> T:
        """Return the answer, or raise `Away`. `follows`: the answer is a stream of events."""
        await self._running.wait()
        node = self.world.nodes[self.node]
        try:
            found = await presented(
                self.credentials, lambda headers: self.link.call(node, lambda one: one.admit(headers, what, follows))
            )
        except Unauthorized as error:
            await self._running.wait()
            if not follows:
                self.world.deny(self)
            await asyncio.sleep(0)  # where one that was ended ends
            raise Away from error
        except Away:
            await self._running.wait()
            self.record("unreachable")
            self.node = (self.node + 1) % len(self.world.nodes)
            raise
        await self._running.wait()
        return found

    def hear(self, kind: str, event: WatermarkAlignmentEvent, **fields: Any) -> None:
        if self.heard is None or event.revision >= self.heard.revision or kind != "heard":
            self.heard = event
        self.record(kind, revision=event.revision, read_limit=event.max_desired_watermark, **fields)

    async def register(self) -> None:
        ceiling = None if self.heard is None else self.heard.max_desired_watermark
        event = ReaderRegistrationEvent(
            subtask=self.subtask,
            owner=self.file,
            takeover=True,
            config=self.world.config,
            configured_at=self.world.configured_at,
            ceiling=ceiling,
        )
        opened = await self.call(lambda node: node.register(self.world.group, self.source, event))
        self.epoch = opened.epoch
        self.hear("registered", opened.alignment, source=self.source, subtask=self.subtask, epoch=opened.epoch)

    def taken(self, report: ReportedWatermarkEvent) -> list[list[Any]]:
        return [[self.source, report.subtask, report.epoch, report.watermark]]
