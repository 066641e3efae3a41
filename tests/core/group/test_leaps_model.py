"""A store's clock that leaps at random, forward and back, under several processes. No reader is
lost that was heard within its lease by a monotonic clock. A dead one is lost in the end.
"""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from lockgate.group.alignment import evaluate
from lockgate.group.commands import register, report
from lockgate.group.group import Group, create
from lockgate.group.leaps import UNNOTICED_MS, StoreClock, after_leaps
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from support.examples import examples

LEASE, PROCESSES, SOURCES = 3_000, 3, "abc"
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)
SLOWEST_MS = 60
PRECISION_MS = UNNOTICED_MS + 2 * SLOWEST_MS


@dataclass(frozen=True)
class Step:
    """`wait` ms after the step before, a process looks, or a reader reports through it (`source`);
    or the store's clock leaps. The store answers `late` ms after it was asked.
    """

    wait: int
    process: int
    source: str | None
    leap: int
    late: int


steps = st.builds(
    Step,
    wait=st.integers(0, 1_200),
    process=st.integers(0, PROCESSES - 1),
    source=st.none() | st.sampled_from(SOURCES),
    leap=st.sampled_from([0] * 8 + [400, 2_000, 3_500, 60_000, 86_400_000, -400, -3_500, -60_000, -86_400_000]),
    late=st.integers(0, SLOWEST_MS),
)


class World:
    """One group in a store, its processes, and for each reader when it was last heard, by a clock
    that does not leap.
    """

    def __init__(self) -> None:
        self.now, self.store_ahead = 0, 10**12
        self.clocks = [StoreClock() for _ in range(PROCESSES)]
        self.accounted = [0] * PROCESSES
        self.heard: dict[str, int] = {}
        self.group = create("g", CONFIG, self.store_ahead)
        for process in range(PROCESSES):
            self.acts(process)
        for source in SOURCES:
            self.acts(0, source)

    def takes(self, step: Step) -> None:
        self.now += step.wait
        self.store_ahead += step.leap
        if step.leap < 0:  # or a process would miss a clock that goes back and forward again
            for process in range(PROCESSES):
                self.acts(process)
        self.acts(step.process, step.source, step.late)

    def acts(self, process: int, source: str | None = None, late: int = 0) -> None:
        """As the commit queue does: the group as loaded, leaps, the command, evaluation."""
        sent, monotonic_ahead = self.now, 10**6 * process
        self.now += late
        store_ms, clock = sent + late // 2 + self.store_ahead, self.clocks[process]
        clock.observe(sent + monotonic_ahead, store_ms, self.now + monotonic_ahead)
        leaps = [leap for leap in clock.leaps if leap.number > self.accounted[process]]
        group = after_leaps(self.group, leaps)
        if source is not None:
            group = self.reports(group, source, store_ms)
            self.heard[source] = sent + late // 2
        self.group, _ = evaluate(group, store_ms)
        self.accounted[process] = max([0, *(leap.number for leap in clock.leaps)])

    def reports(self, group: Group, source: str, store_ms: int) -> Group:
        if (source, 0) not in group.readers:
            group = register(group, source, ReaderRegistrationEvent(subtask=0), store_ms)
        epoch = group.readers[source, 0].epoch
        return report(group, source, ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=5), store_ms)

    @property
    def lost(self) -> set[str]:
        return {source for (source, _), reader in self.group.readers.items() if reader.lost}

    @property
    def alive(self) -> set[str]:
        """The readers that were heard within their lease, by less than the precision of leases."""
        return {source for source, at in self.heard.items() if self.now - at < LEASE - PRECISION_MS}


@examples(300)
@given(st.lists(steps, max_size=30))
def test_no_reader_that_was_heard_within_its_lease_is_lost_whatever_the_clock_does(script: list[Step]) -> None:
    world = World()
    for step in script:
        world.takes(step)
        assert not world.lost & world.alive


@examples(100)
@given(st.lists(steps, max_size=20))
def test_a_dead_reader_is_lost_once_the_clock_leaps_no_more(script: list[Step]) -> None:
    world = World()
    for step in script:
        world.takes(step)
    for process in range(PROCESSES):  # each notices the last leap
        world.acts(process, "b")
    for _ in range(3 * LEASE // 500):
        world.now += 500
        world.acts(0, "b")
    assert world.lost == {"a", "c"}
