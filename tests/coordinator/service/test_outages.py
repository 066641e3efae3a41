"""No reader runs ahead after an outage, whether the groups were lost or only unreachable (the rules
alone: tests/core/group/test_leases.py).
"""

from lockgate.watermark import MAX
from lockgate.wire.events import (
    CatchUp,
    GroupConfig,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    WatermarkAlignmentEvent,
)
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=900, update_interval_ms=100, catch_up=CatchUp.STRICT)


class Outage:
    """A group of two readers, `slow` at 50 and `fast` at 1,000, and a clock to set."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.lose_everything()
        self.epochs: dict[str, int] = {}

    def lose_everything(self) -> None:
        self.coordinator = Coordinator(MemoryStore(lambda: self.now_ms))

    async def registers(self, source: str, ceiling: int | None = None) -> WatermarkAlignmentEvent:
        answer = await self.coordinator.register(
            "g", source, ReaderRegistrationEvent(subtask=0, config=CONFIG, ceiling=ceiling)
        )
        self.epochs[source] = answer.epoch
        return answer.alignment

    async def reports(self, source: str, watermark: int) -> WatermarkAlignmentEvent:
        event = ReportedWatermarkEvent(subtask=0, epoch=self.epochs[source], watermark=watermark)
        return await self.coordinator.report("g", source, event)

    async def both_report(self) -> WatermarkAlignmentEvent:
        for source in ("slow", "fast"):
            await self.registers(source)
        await self.reports("slow", 50)
        return await self.reports("fast", 1_000)


async def test_the_first_reader_back_after_an_outage_that_kept_the_data_finds_the_ceiling_unchanged() -> None:
    outage = Outage()
    before = await outage.both_report()
    outage.now_ms += 3_600_000
    assert await outage.reports("fast", 1_000) == before


async def test_the_second_reader_is_lost_one_lease_after_the_first_came_back() -> None:
    outage = Outage()
    await outage.both_report()
    outage.now_ms += 3_600_000
    for _ in range(CONFIG.lease_ms // 100 - 1):
        await outage.reports("fast", 1_000)
        outage.now_ms += 100
    assert (await outage.reports("fast", 1_000)).max_desired_watermark == 60
    outage.now_ms += 100
    assert (await outage.reports("fast", 1_000)).max_desired_watermark == 1_010


async def test_the_first_reader_back_after_an_outage_that_lost_the_data_keeps_its_old_ceiling_for_one_lease() -> None:
    outage = Outage()
    before = await outage.both_report()
    outage.now_ms += 60_000
    outage.lose_everything()
    assert (await outage.registers("fast", before.max_desired_watermark)).max_desired_watermark == 60
    outage.now_ms += CONFIG.lease_ms - 1
    assert (await outage.reports("fast", 1_000)).max_desired_watermark == 60
    outage.now_ms += 1
    assert (await outage.reports("fast", 1_000)).max_desired_watermark == 1_010


async def test_reading_the_group_while_all_are_silent_does_not_change_what_readers_find_afterwards() -> None:
    outage = Outage()
    before = await outage.both_report()
    outage.now_ms += 3_600_000
    assert (await outage.coordinator.refresh("g")).event.max_desired_watermark == MAX
    back = await outage.reports("fast", 1_000)
    assert (back.group_watermark, back.max_desired_watermark, back.blocked_by) == (50, 60, before.blocked_by)
    assert back.revision > before.revision
