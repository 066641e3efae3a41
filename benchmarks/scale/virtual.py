"""Part `virtual`: the coordinator's own code in virtual time, with readers that check each ceiling.

`Coordinator` runs with its store in memory, journal, announcer, sampler and stall detector, on an
event loop that goes on to the next timer instead of waiting for it. So the leases, heartbeats and
deadlines are the shipped ones, and ten minutes take as long as their work does. A reader is a model
of a query: partitions with skewed logs, a budget, batches that take their time, and an event stream
of its own. Only HTTP is left out.

Two claims are checked at each plan. No record that it reads is above the ceiling, and the ceiling
is not above the one that follows from all reports that were sent.
"""

import asyncio
import json
import random
import selectors
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from lockgate.watermark import MIN
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.api.bodies import decoded
from lockgate_coordinator.api.stream import group_frames
from lockgate_coordinator.service import commit_queue
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.stalls import StallDetector
from lockgate_coordinator.store import MemoryStore
from lockgate_coordinator.telemetry.metrics import Metrics

T = TypeVar("T")
T0 = 1_767_225_600_000
BACKLOG_MS = 6 * 3_600_000
CONFIG = GroupConfig(max_drift_ms=60_000, lease_ms=30_000, update_interval_ms=1_000)


class _Skipping(selectors.SelectSelector):
    def __init__(self, skip: Callable[[float], None]) -> None:
        super().__init__()
        self._skip = skip

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing is left to wait for")
        self._skip(timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock goes on to the next timer at once."""

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_Skipping(self._skip))

    def time(self) -> float:
        return self._now_s

    def _skip(self, seconds: float) -> None:
        self._now_s += seconds + 1e-6  # as any clock, it never wakes a timer too early


def in_virtual_time(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, which runs on a virtual loop."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


def a_coordinator() -> Coordinator:
    """Return a coordinator as the application makes it, at the running loop's time."""
    loop = asyncio.get_running_loop()
    counted = Metrics(MemoryStore(lambda: T0 + round(loop.time() * 1_000)))
    return Coordinator(counted.store, [counted.journal], max_watchers=1_000_000, stalls=StallDetector(loop.time))


@dataclass(frozen=True)
class World:
    """How many groups, sources of each, and partitions of each source, and for how long."""

    groups: int = 100
    sources: int = 10
    partitions: int = 100
    seconds: int = 120

    @property
    def counts(self) -> dict[str, int]:
        sources = self.groups * self.sources
        return {"groups": self.groups, "sources": sources, "partitions": sources * self.partitions}


class Account:
    """Processor seconds by kind of work, and counts of what has happened."""

    def __init__(self) -> None:
        self.seconds, self.counts, self._began = Counter[str](), Counter[str](), time.thread_time()

    def timed(self, kind: str, work: Callable[..., T], *arguments: Any, **more: Any) -> T:
        began = time.thread_time()
        made = work(*arguments, **more)
        self.seconds[kind] += time.thread_time() - began
        return made

    def begin(self) -> None:
        """Forget all that was counted so far."""
        self.seconds.clear()
        self.counts.clear()
        self._began = time.thread_time()

    def figures(self) -> dict[str, float]:
        """Return µs a report, in all and by the kind of work, and µs a turn."""
        whole = time.thread_time() - self._began - self.seconds["reader"]
        reports, turns = self.counts["reports"], self.counts["turns"]
        rest = whole - self.seconds["decode"] - self.seconds["turn"]
        return {
            "us_a_report": 1e6 * whole / reports,
            "us_decode": 1e6 * self.seconds["decode"] / reports,
            "us_turn": 1e6 * self.seconds["turn"] / turns,
            "us_rest_with_streams": 1e6 * rest / reports,
            "reports": reports,
            "turns": turns,
            "events": self.counts["events"],
        }


class Group:
    """What the readers of a group have sent: watermark and reach of each."""

    def __init__(self, sources: int) -> None:
        self.watermarks, self.reaches = np.full(sources, MIN), np.full(sources, MIN)

    def allows(self) -> int:
        """Return the highest ceiling that follows from these reports."""
        strict = int(self.watermarks.min()) + CONFIG.max_drift_ms
        return max(strict, int(np.maximum(self.watermarks, self.reaches).min()))


class Source:
    """A query over one source, with a record every `gaps` ms in each of its partitions."""

    def __init__(self, world: World, group: Group, names: tuple[str, str], number: int, account: Account) -> None:
        chance = random.Random(number)
        self.group, self.names, self.place, self.account = group, names, number % world.sources, account
        draw = np.random.default_rng(number)
        self.gaps = draw.integers(50, 2_000, world.partitions)
        self.next = T0 - BACKLOG_MS + draw.integers(0, BACKLOG_MS // 2, world.partitions)
        self.budget, self.batch_s = world.partitions * chance.randrange(2_000, 8_000), chance.uniform(0.5, 1.5)
        self.splits = [f'"t-{n}":{{"state":"active","watermark":' for n in range(world.partitions)]
        self.frame, self.woken, self.epoch = b"", asyncio.Event(), 0

    async def follow(self, coordinator: Coordinator) -> None:
        async for frame in group_frames(await coordinator.follow(self.names[0], -1)):
            if frame[0] != b":"[0]:
                self.frame = frame
                self.account.counts["events"] += 1
                self.woken.set()

    async def read(self, coordinator: Coordinator) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.batch_s * self.place / 10)
        while True:
            now = T0 + round(loop.time() * 1_000)
            body, reach = self.account.timed("reader", self._report, now)
            event = self.account.timed("decode", decoded, ReportedWatermarkEvent, body)
            self.woken.clear()
            self.account.counts["reports"] += 1
            ceiling = (await coordinator.report(*self.names, event)).max_desired_watermark
            while not self.account.timed("reader", self._reads, min(reach, ceiling), ceiling):
                if reach <= ceiling:  # all is read
                    break
                await self.woken.wait()
                self.woken.clear()
                ceiling = max(ceiling, self.account.timed("reader", self._heard))
            await asyncio.sleep(self.batch_s)

    def _heard(self) -> int:
        ceiling: int = json.loads(self.frame.partition(b"data: ")[2])["max_desired_watermark"]
        return ceiling

    def _report(self, now: int) -> tuple[bytes, int]:
        """Return the body of a report, and how far the next batch reads without the group."""
        watermarks = np.minimum(self.next, now) - 1
        lowest = int(watermarks.min())
        rate = float((1 / self.gaps[self.next <= lowest + BACKLOG_MS // 2]).sum())
        reach = min(lowest + int(self.budget / max(rate, 1e-9)), now)
        splits = ",".join(f"{name}{at}}}" for name, at in zip(self.splits, watermarks.tolist(), strict=True))
        self.group.watermarks[self.place], self.group.reaches[self.place] = lowest, reach
        said = f'"subtask":0,"epoch":{self.epoch},"watermark":{lowest},"reach":{reach}'
        return f'{{{said},"splits":{{{splits}}}}}'.encode(), reach

    def _reads(self, target: int, ceiling: int) -> bool:
        """Read up to `target`, and return whether there was a record."""
        self.account.counts["ceilings beyond the reports"] += ceiling > self.group.allows()
        read = self.next <= target
        if not read.any():
            return False
        many = (target - self.next[read]) // self.gaps[read]
        last = self.next[read] + many * self.gaps[read]
        self.account.counts["records above the ceiling"] += int((last > ceiling).sum())
        self.account.counts["records"] += int(many.sum()) + len(many)
        self.next[read] = last + self.gaps[read]
        return True


async def _lived(world: World, account: Account, progress: Callable[[int], None]) -> dict[str, float]:
    coordinator, sources = a_coordinator(), list[Source]()
    shipped = commit_queue.turn
    for number in range(world.groups):
        name, names = f"g{number}", [f"s{n}" for n in range(world.sources)]
        await coordinator.configure(name, replace(CONFIG, expected_sources=tuple(names)))
        group = Group(world.sources)
        for n, source in enumerate(names):
            made = Source(world, group, (name, source), number * world.sources + n, account)
            registration = ReaderRegistrationEvent(subtask=0, owner="scale")
            made.epoch = (await coordinator.register(name, source, registration)).epoch
            sources.append(made)

    def turned(*arguments: Any, **more: Any) -> Any:
        account.counts["turns"] += 1
        return account.timed("turn", shipped, *arguments, **more)

    commit_queue.turn = turned
    try:
        account.begin()
        tasks = [asyncio.create_task(work(coordinator)) for each in sources for work in (each.follow, each.read)]
        for second in range(1, world.seconds + 1):
            await asyncio.sleep(1)
            progress(second)
            for task in tasks:
                if task.done():
                    task.result()
        found = account.figures()
    finally:
        commit_queue.turn = shipped
        await end_all(coordinator)
    return found


async def end_all(coordinator: Coordinator) -> None:
    """Close the coordinator, and cancel whatever still runs on the loop."""
    await coordinator.close()
    rest = asyncio.all_tasks() - {asyncio.current_task()}
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)


def measured(world: World, progress: Callable[[int], None]) -> dict[str, Any]:
    """Let the world live, and return its figures. Raises `AssertionError` if a claim is broken."""
    account = Account()
    found = in_virtual_time(_lived(world, account, progress))
    claims = {name: account.counts[name] for name in ("records above the ceiling", "ceilings beyond the reports")}
    assert not any(claims.values()), claims
    return {**world.counts, "virtual_s": world.seconds, **found, "records": account.counts["records"], **claims}
