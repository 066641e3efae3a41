"""Work for a group of thousands of readers has pauses, in which other requests are served."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from lockgate.steps import ITEMS_OF_A_STEP, Steps
from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.pauses import LOOPS_BETWEEN_STEPS, InTurn
from lockgate_coordinator.service.commit_queue import COMMANDS_OF_A_TURN
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore
from lockgate_coordinator.telemetry.changes import Kind
from lockgate_coordinator.telemetry.metrics import Metrics

READERS = 10 * ITEMS_OF_A_STEP
CONFIG = GroupConfig(max_drift_ms=10, lease_ms=30_000, catch_up=CatchUp.STRICT)
T = TypeVar("T")


class Crowd:
    """A group of `READERS` readers that have reported, and a clock to set."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.metrics = Metrics(MemoryStore(lambda: self.now_ms))
        self.coordinator = Coordinator(self.metrics.store, [self.metrics.journal])
        self.reports: list[tuple[str, ReportedWatermarkEvent]] = []

    async def begin(self) -> None:
        await self.coordinator.configure("g", CONFIG)
        registrations = (ReaderRegistrationEvent(subtask=number) for number in range(READERS))
        answers = await asyncio.gather(*(self.coordinator.register("g", "s", event) for event in registrations))
        for answer in answers:
            event = ReportedWatermarkEvent(subtask=answer.subtask, epoch=answer.epoch, watermark=50)
            self.reports.append(("s", event))
        await self.coordinator.report_all("g", self.reports)


async def turns_during(work: Callable[[], Awaitable[T]]) -> tuple[int, T]:
    """How often another task had its turn meanwhile, and the work's result."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.create_task(other())
    await asyncio.sleep(0)
    turns = 0
    try:
        result = await work()
        return turns, result
    finally:
        task.cancel()


async def test_others_are_served_while_thousands_of_readers_are_lost_and_logged() -> None:
    crowd = Crowd()
    await crowd.begin()
    few, _ = await turns_during(lambda: crowd.coordinator.refresh("g"))
    crowd.now_ms += CONFIG.lease_ms
    many, lost = await turns_during(lambda: crowd.coordinator.refresh("g"))
    assert lost.event.max_desired_watermark == MAX
    assert crowd.metrics.journal.counts[Kind.LOST] == READERS
    assert many - few >= 2 * READERS // ITEMS_OF_A_STEP  # added up and logged


async def test_others_are_served_between_commits_of_many_batches() -> None:
    crowd = Crowd()
    await crowd.begin()
    await crowd.coordinator.report_all("g", crowd.reports[:1])
    before = crowd.coordinator.queue.commits
    batches = [crowd.reports[first : first + COMMANDS_OF_A_TURN] for first in range(0, READERS, COMMANDS_OF_A_TURN)]
    turns, _ = await turns_during(
        lambda: asyncio.gather(*(crowd.coordinator.report_all("g", batch) for batch in batches))
    )
    assert crowd.coordinator.queue.commits - before == len(batches)
    assert turns >= len(batches)


async def test_heavy_bodies_take_turns_and_others_are_served_between_their_steps() -> None:
    in_turn, steps_done, most_at_once = InTurn(), 0, 0

    def steps() -> Steps[None]:
        nonlocal steps_done
        yield
        for _ in range(10):
            steps_done += 1
            yield

    async def served() -> None:
        nonlocal most_at_once
        while steps_done < 80:
            before = steps_done
            for _ in range(LOOPS_BETWEEN_STEPS - 1):
                await asyncio.sleep(0)
            most_at_once = max(most_at_once, steps_done - before)

    await asyncio.gather(served(), *(in_turn.work(steps()) for _ in range(8)))
    assert (steps_done, most_at_once) == (80, 1)
