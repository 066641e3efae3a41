"""A process that stood still leaves the time out where it judges leases (the rule alone:
tests/core/group/test_hearing.py).
"""

import logging
from itertools import pairwise

import pytest

from lockgate.group.hearing import ALWAYS, Hearing
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.pulse import AFTERWARDS_S, DEAF_S, SPANS_KEPT, Pulse
from lockgate_coordinator.store import MemoryStore

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=900, update_interval_ms=600_000, catch_up=CatchUp.STRICT)
"""No silence is taken for an outage of all: the interval is too long for that."""


class Stalled:
    """A group of two readers, `slow` at 50 and `fast` at 1,000, at a process that can stop."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        store, self.pulse = MemoryStore(lambda: int(self.now_s * 1_000)), Pulse(lambda: self.now_s)
        self.coordinator = Coordinator(store, pulse=self.pulse)
        self._epochs: dict[str, int] = {}

    async def begin(self) -> None:
        for source, watermark in (("slow", 50), ("fast", 1_000)):
            event = ReaderRegistrationEvent(subtask=0, config=CONFIG)
            self._epochs[source] = (await self.coordinator.register("g", source, event)).epoch
            await self.reports(source, watermark)

    async def reports(self, source: str, watermark: int) -> int:
        event = ReportedWatermarkEvent(subtask=0, epoch=self._epochs[source], watermark=watermark)
        return (await self.coordinator.report("g", source, event)).max_desired_watermark

    async def looks(self) -> int:
        return (await self.coordinator.look("g")).event.max_desired_watermark


async def test_a_look_after_the_process_stood_still_loses_no_reader() -> None:
    stalled = Stalled()
    await stalled.begin()
    stalled.now_s += 15
    assert await stalled.looks() == 60


async def test_the_first_report_that_is_read_after_a_stop_sets_no_reader_free() -> None:
    stalled = Stalled()
    await stalled.begin()
    for _ in range(3):
        stalled.now_s += 15
        assert await stalled.reports("fast", 1_000) == 60
    assert await stalled.reports("slow", 50) == 60


async def test_a_reader_that_died_in_a_stop_is_lost_after_it() -> None:
    stalled = Stalled()
    await stalled.begin()
    stalled.now_s += 15
    await stalled.looks()
    for _ in range(40):
        stalled.now_s += 0.1
        stalled.pulse.beat()
        ceiling = await stalled.reports("fast", 1_000)
    assert ceiling == 1_010


class Clock:
    """A clock to set, in seconds."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def test_a_late_beat_is_a_deaf_span_that_lasts_as_long_again_or_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    pulse = Pulse(clock)
    assert pulse.hearing(0) is ALWAYS
    clock.now_s += DEAF_S
    assert pulse.hearing(500) is ALWAYS
    with caplog.at_level(logging.WARNING, "lockgate"):
        clock.now_s += 15
        assert pulse.hearing(15_500) == Hearing(((0, 15_500 + int(AFTERWARDS_S * 1_000)),))
    assert [record.getMessage() for record in caplog.records] == ["event loop stalled for 15.5 s; extending leases"]
    pulse.stop()


async def test_a_process_that_stops_again_before_it_has_read_all_is_deaf_all_along() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    pulse.hearing(0)
    clock.now_s += 15
    pulse.beat()
    clock.now_s += 0.75
    assert pulse.hearing(15_750) == Hearing(((0, 16_500),))
    pulse.stop()


async def test_only_the_last_spans_are_kept_and_they_do_not_overlap() -> None:
    clock = Clock()
    pulse = Pulse(clock)
    for _ in range(SPANS_KEPT + 5):
        pulse.hearing(0)
        clock.now_s += 2 * DEAF_S
        pulse.hearing(0)
        for _ in range(20):
            clock.now_s += DEAF_S / 2
            pulse.beat()
    spans = pulse.hearing(1_000_000).deaf
    assert len(spans) == SPANS_KEPT
    assert all(ended < began for (_, ended), (began, _) in pairwise(spans))
    pulse.stop()
