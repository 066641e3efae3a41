"""An outage, with and without the loss of all data, as the readers of a group see it."""

import pytest

from lockgate.group.commands import Command, Opened, Register, Reports
from lockgate.group.group import Group
from lockgate.group.now import Now
from lockgate.group.turn import Turn, turn
from lockgate.watermark import MAX
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=900, update_interval_ms=100, catch_up=CatchUp.STRICT)


class Outage:
    """A group of two readers, `slow` at 50 and `fast` at 1,000, and a clock to set."""

    def __init__(self) -> None:
        self.now_ms, self.epochs = 1_000_000, dict[str, int]()
        self.group: Group | None = None
        for source, watermark in (("slow", 50), ("fast", 1_000)):
            self.registers(source)
            self.reports(source, watermark)

    def takes(self, *commands: Command) -> Turn:
        done = turn(self.group, commands, Now(self.now_ms), name="g")
        self.group = done.group
        return done

    def registers(self, source: str, ceiling: int | None = None) -> int:
        event = ReaderRegistrationEvent(subtask=0, config=CONFIG, ceiling=ceiling)
        done = self.takes(Register(source, event))
        assert isinstance(done.outcomes[0], Opened)
        self.epochs[source] = done.outcomes[0].epoch
        return done.event.max_desired_watermark

    def reports(self, source: str, watermark: int) -> int:
        event = ReportedWatermarkEvent(subtask=0, epoch=self.epochs[source], watermark=watermark)
        return self.takes(Reports([(source, event)])).event.max_desired_watermark


@pytest.fixture
def outage() -> Outage:
    return Outage()


def test_first_reader_back_after_outage_finds_ceiling_unchanged(outage: Outage) -> None:
    before = outage.takes().event
    outage.now_ms += 3_600_000
    assert outage.reports("fast", 1_000) == 60
    assert outage.takes().event == before


def test_second_reader_is_lost_one_lease_after_the_first_came_back(outage: Outage) -> None:
    outage.now_ms += 3_600_000
    for _ in range(CONFIG.lease_ms // 100 - 1):
        outage.reports("fast", 1_000)
        outage.now_ms += 100
    assert outage.reports("fast", 1_000) == 60
    outage.now_ms += 100
    assert outage.reports("fast", 1_000) == 1_010


def test_first_reader_back_after_data_loss_keeps_its_ceiling_one_lease(outage: Outage) -> None:
    outage.now_ms += 60_000
    outage.group = None
    assert outage.registers("fast", ceiling=60) == 60
    outage.now_ms += CONFIG.lease_ms - 1
    assert outage.reports("fast", 1_000) == 60
    outage.now_ms += 1
    assert outage.reports("fast", 1_000) == 1_010


def test_reading_a_silent_group_changes_nothing_for_its_readers(outage: Outage) -> None:
    before = outage.takes().event
    outage.now_ms += 3_600_000
    assert outage.takes().event.max_desired_watermark == MAX
    assert outage.reports("fast", 1_000) == 60
    back = outage.takes().event
    assert (back.group_watermark, back.blocked_by) == (50, before.blocked_by)
    assert back.revision > before.revision
