"""A process that stood still leaves the time out where it judges leases (the rule alone:
tests/core/group/test_stalls.py).
"""

import logging
from itertools import pairwise

import pytest

from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.stalls import AFTERWARDS_S, SPANS_KEPT, STALLED_S, StallDetector
from lockgate_coordinator.store import MemoryStore

CONFIG = GroupConfig(max_drift_ms=10, lease_ms=900, update_interval_ms=600_000, catch_up=CatchUp.STRICT)
"""No silence is taken for an outage of all: the interval is too long for that."""


class Stalled:
    """A group of two readers, `slow` at 50 and `fast` at 1,000, at a process that can stop."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        store, self.detector = MemoryStore(lambda: int(self.now_s * 1_000)), StallDetector(lambda: self.now_s)
        self.coordinator = Coordinator(store, stalls=self.detector)
        self._epochs: dict[str, int] = {}

    async def begin(self) -> None:
        for source, watermark in (("slow", 50), ("fast", 1_000)):
            event = ReaderRegistrationEvent(subtask=0, config=CONFIG)
            self._epochs[source] = (await self.coordinator.register("g", source, event)).epoch
            await self.reports(source, watermark)

    async def reports(self, source: str, watermark: int) -> int:
        event = ReportedWatermarkEvent(subtask=0, epoch=self._epochs[source], watermark=watermark)
        return (await self.coordinator.report("g", source, event)).max_desired_watermark


async def test_first_report_read_after_stall_sets_no_reader_free() -> None:
    stalled = Stalled()
    await stalled.begin()
    for _ in range(3):
        stalled.now_s += 15
        assert await stalled.reports("fast", 1_000) == 60
    assert await stalled.reports("slow", 50) == 60


class Clock:
    """A clock to set, in seconds."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


async def test_late_beat_is_stall_that_lasts_as_long_again_or_a_second(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    detector = StallDetector(clock)
    assert detector.now(0).stalls == ()
    clock.now_s += STALLED_S
    assert detector.now(500).stalls == ()
    with caplog.at_level(logging.WARNING, "lockgate"):
        clock.now_s += 15
        assert detector.now(15_500).stalls == ((0, 15_500 + int(AFTERWARDS_S * 1_000)),)
    assert [record.getMessage() for record in caplog.records] == ["event loop stalled for 15.5 s; extending leases"]
    detector.stop()


async def test_second_stop_before_all_is_read_makes_one_stall() -> None:
    clock = Clock()
    detector = StallDetector(clock)
    detector.now(0)
    clock.now_s += 15
    detector.beat()
    clock.now_s += 0.75
    assert detector.now(15_750).stalls == ((0, 16_500),)
    detector.stop()


async def test_only_the_last_spans_are_kept_and_they_do_not_overlap() -> None:
    clock = Clock()
    detector = StallDetector(clock)
    for _ in range(SPANS_KEPT + 5):
        detector.now(0)
        clock.now_s += 2 * STALLED_S
        detector.now(0)
        for _ in range(20):
            clock.now_s += STALLED_S / 2
            detector.beat()
    spans = detector.now(1_000_000).stalls
    assert len(spans) == SPANS_KEPT
    assert all(ended < began for (_, ended), (began, _) in pairwise(spans))
    detector.stop()
