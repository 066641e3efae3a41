"""The processes of the virtual world: readers whose partitions the coordinator assigns, and a query
with a checkpoint. Rules of partitions, leases and plans are the real ones; the rest is a model that
follows docs/internals/protocol.md. Each records its history as the real clients do.
"""

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lockgate.errors import Refused, StaleEpoch
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Backlog, Bounds
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate_reader.group.holdings import Holdings, SplitLease
from lockgate_reader.place import ReaderSplit, ReaderState
from support.fire.process import Process
from support.fire.servers import Away, now_ms, now_s
from support.logs_in_memory import LogsInMemory

if TYPE_CHECKING:
    from support.fire.world import World

LOOK_S = 0.1
ROWS_OF_A_LOOK = 2
AGAIN_S = 0.1
BATCH = 16
BATCH_S = 0.35


@dataclass
class _Open:
    number: int
    position: int
    first: bool = True


class Reader(Process):
    """A reader of the topic's partitions."""

    def __init__(self, world: "World", subtask: int) -> None:
        self.holdings = Holdings(f"reader-{subtask}")
        self.lease = SplitLease()
        self.open: dict[str, _Open] = {}
        self.returned: dict[str, ReaderSplit] = {}
        self.leaving = False
        super().__init__(world, "orders", subtask)

    def _threads(self) -> list[Awaitable[None]]:
        return [self._exchanges(), self._reads()]

    def _state(self) -> ReaderState:
        held = tuple(self._split(name, each) for name, each in self.open.items())
        return ReaderState(held=held, returned=tuple(self.returned.values()))

    def _split(self, name: str, each: _Open) -> ReaderSplit:
        topic, _, partition = name.rpartition("-")
        return ReaderSplit(KafkaPartitionSplit(topic, int(partition), each.position), each.number)

    def _report(self) -> ReportedWatermarkEvent:
        times = [self._next(name, each.position) for name, each in self.open.items()]
        lowest = min((time for time in times if time is not None), default=MAX)
        ahead = [self._next(name, each.position + ROWS_OF_A_LOOK) for name, each in self.open.items()]
        reach = min((time for time in ahead if time is not None), default=lowest)
        assert self.epoch is not None
        idle = lowest == MAX
        return ReportedWatermarkEvent(
            subtask=self.subtask,
            epoch=self.epoch,
            watermark=MAX if idle else lowest - 1,
            idle=idle,
            reach=reach if not idle and reach > lowest else None,
        )

    def _next(self, name: str, offset: int) -> int | None:
        log = self.world.topic[name]
        return log[offset] if offset < len(log) else None

    async def _exchanges(self) -> None:
        while True:
            try:
                if self.epoch is None:
                    await self.register()
                if self.leaving:
                    await self._farewell()
                    return
                await self._exchange()
            except StaleEpoch:
                self.epoch = None
                if self.world.is_taken(self):
                    self.subtask = self.world.free_subtask()
                await self.pause(AGAIN_S)
            except Refused:  # the group is gone
                self.epoch = None
                await self.pause(AGAIN_S)
            except Away:
                await self.pause(AGAIN_S)
            else:
                await self.pause(AGAIN_S if self.lease.is_over(now_s()) else self.world.update_s)

    async def _exchange(self) -> None:
        assert self.epoch is not None
        epoch, state, sent_at = self.epoch, self._state(), now_s()
        exchange = self.holdings.exchange(state, epoch)
        report = self._report()
        exchange = replace(exchange, report=report)
        answer = await self.call(lambda node: node.exchange(self.world.group, self.source, self.subtask, exchange))
        self.holdings.answered(exchange, answer, state)
        self.lease = self.lease.renewed(sent_at, answer.lease_ms, now_s(), settled=self.holdings.settled)
        self._obey()
        self.hear(
            "exchanged",
            answer.alignment,
            source=self.source,
            taken=self.taken(report),
            held=_positions(exchange.held),
            given_back=_positions(exchange.given_back),
            stop=[[each.split, each.assignment] for each in answer.stop],
        )

    def _obey(self) -> None:
        assigned = self.holdings.assigned or {}
        for name in [*self.open]:
            if name not in assigned or assigned[name].number != self.open[name].number:
                del self.open[name]
        numbers = {name: assigned[name].number for name in self.holdings.give_back}
        self.returned = {name: each for name, each in self.returned.items() if numbers.get(name) == each.number}
        for name, each in assigned.items():
            if name in self.holdings.give_back:
                if name in self.open:
                    self.returned[name] = self._split(name, self.open.pop(name))
                else:
                    self.returned.setdefault(name, ReaderSplit(each.split, each.number))
            elif name not in self.open:
                self.open[name] = _Open(each.number, max(0, each.split.starting_offset))

    async def _farewell(self) -> None:
        assert self.epoch is not None
        state = self._state()
        self.open = {}  # nothing is read any more
        exchange = self.holdings.farewell(state, self.epoch)
        answer = await self.call(lambda node: node.exchange(self.world.group, self.source, self.subtask, exchange))
        stop = [[each.split, each.assignment] for each in answer.stop]
        given = {"held": [], "given_back": _positions(exchange.given_back), "stop": stop}
        self.hear("exchanged", answer.alignment, source=self.source, taken=[], **given)
        epoch = self.epoch
        await self.call(lambda node: node.leave(self.world.group, self.source, self.subtask, epoch))
        self.end()

    async def _reads(self) -> None:
        while not self.ended:
            await self.pause(LOOK_S)
            if self.leaving or self.world.no_leader:
                continue
            for name, each in self.open.items():
                limit = MIN if self.heard is None else self.heard.max_desired_watermark
                log, first = self.world.topic[name], each.position
                while (
                    each.position < min(len(log), first + ROWS_OF_A_LOOK)
                    and log[each.position] <= limit
                    and not self.lease.is_over(now_s())
                ):
                    each.position += 1
                if each.position > first:
                    rows = {"from": first, "to": each.position, "latest": max(log[first : each.position])}
                    self.record("rows", source=self.source, split=name, number=each.number, read_limit=limit, **rows)


@dataclass
class Checkpoint:
    """What the query has, over its runs. `logged`: the end of a batch that was not committed."""

    positions: dict[str, int]
    logged: dict[str, int] | None = None
    times: list[int] = field(default_factory=list)


class Query(Process):
    """A query over a topic of its own, with the planner's draft and cut."""

    def __init__(self, world: "World", checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._latest: tuple[int, int | None] = (MIN, None)
        super().__init__(world, "count", 0)

    def _threads(self) -> list[Awaitable[None]]:
        return [self._plans(), self._listens(), self._renews()]

    async def _plans(self) -> None:
        if self.checkpoint.logged is not None:
            await self._batch(self.checkpoint.logged)
        while True:
            drafted = self._draft()
            lowest = min(drafted.reported_watermarks().values(), default=MAX)
            read = all(self.checkpoint.positions[name] == len(log) for name, log in self.world.other.items())
            self._latest = (MAX if read else lowest, drafted.reach if not read and drafted.reach > lowest else None)
            if not await self._report(finished=read) or self.heard is None:
                await self.pause(AGAIN_S)
                continue
            if read:
                self.end()
                return
            limit = self.heard.max_desired_watermark
            plan = drafted.plan(limit)
            if not plan.offsets or self.world.no_leader:
                await self.pause(AGAIN_S)
                continue
            ends = {name: each.end for name, each in plan.splits.items()}
            self.record(
                "plan",
                source=self.source,
                run=id(self),
                target=plan.target,
                read_limit=limit,
                splits={f"0/{name}": [each.position, each.end] for name, each in plan.splits.items()},
            )
            await self.pause(0.01)
            self.checkpoint.logged = ends
            await self._batch(ends)

    async def _batch(self, ends: dict[str, int]) -> None:
        await self.pause(BATCH_S)
        self.checkpoint.positions, self.checkpoint.logged = ends, None

    def _draft(self) -> Draft[str]:
        logs, positions = self.world.other, self.checkpoint.positions
        ends = {name: len(log) for name, log in logs.items()}
        view = LogsInMemory(logs, positions, ends)
        backlogs = {
            name: Backlog(source=0, position=positions[name], end=end, known_until=now_ms())
            for name, end in ends.items()
        }
        bounds = Bounds(max_drift=self.world.config.max_drift_ms, idle_timeout=60_000)
        return Draft(LogAnswers(backlogs, view, bounds, {0: BATCH}))

    async def _report(self, finished: bool = False) -> bool:
        """Report, and return whether it was answered."""
        try:
            if self.epoch is None:
                await self.register()
            assert self.epoch is not None
            watermark, reach = self._latest
            report = ReportedWatermarkEvent(
                subtask=0, epoch=self.epoch, watermark=watermark, reach=reach, finished=finished
            )
            event = await self.call(lambda node: node.report(self.world.group, self.source, report))
        except (StaleEpoch, Refused):
            self.epoch = None
            return False
        except Away:
            return False
        self.hear("reported", event, taken=self.taken(report))
        return True

    async def _renews(self) -> None:
        while not self.ended:
            await self.pause(self.world.config.lease_ms / 6000)
            if not self.ended and self.checkpoint.logged is not None and self.epoch is not None:
                await self._report()

    async def _listens(self) -> None:
        while not self.ended:
            try:
                stream = await self.call(lambda node: node.follow(self.world.group, -1), follows=True)
                async for event in stream:
                    await self.pause(self.link.slow_s + self.slow_s)
                    if self.ended or self.link.cut or self.world.nodes[self.node].died.is_set():
                        break
                    if event is not None:
                        assert isinstance(event, WatermarkAlignmentEvent)
                        self._news(event)
                await stream.aclose()
            except (Refused, Away):
                pass
            self.record("unreachable")
            await self.pause(AGAIN_S)

    def _news(self, event: WatermarkAlignmentEvent) -> None:
        """Take an event, unless it was made without this reader's last report."""
        if event.group_watermark > self._latest[0] and self.epoch is not None:
            self.record("heard", revision=event.revision, read_limit=event.max_desired_watermark)
            return
        self.hear("heard", event)


def _positions(splits: Sequence[Any]) -> list[list[Any]]:
    return [[each.split.split_id, each.assignment, each.split.starting_offset, each.restored] for each in splits]
