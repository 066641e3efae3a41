"""A store's clock that jumps at random, forward and back, under several processes. No reader is
lost that was heard within its lease by a monotonic clock. A dead one is lost in the end.
"""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from lockgate.group.clock_jumps import UNNOTICED_MS, StoreClock
from lockgate.group.commands import Register, Reports
from lockgate.group.group import create
from lockgate.group.now import Now
from lockgate.group.turn import turn
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from support.examples import examples

LEASE, PROCESSES, SOURCES = 3_000, 3, "abc"
CONFIG = GroupConfig(lease_ms=LEASE, update_interval_ms=100, max_drift_ms=10)
SLOWEST_MS = 60
PRECISION_MS = UNNOTICED_MS + 2 * SLOWEST_MS


@dataclass(frozen=True)
class Step:
    """`wait` ms after the step before, a process looks, or a reader reports through it (`source`);
    or the store's clock jumps. The store answers `late` ms after it was asked.
    """

    wait: int
    process: int
    source: str | None
    jump: int
    late: int


steps = st.builds(
    Step,
    wait=st.integers(0, 1_200),
    process=st.integers(0, PROCESSES - 1),
    source=st.none() | st.sampled_from(SOURCES),
    jump=st.sampled_from([0] * 8 + [400, 2_000, 3_500, 60_000, 86_400_000, -400, -3_500, -60_000, -86_400_000]),
    late=st.integers(0, SLOWEST_MS),
)


class World:
    """One group in a store, its processes, and for each reader when it was last heard, by a clock
    that does not jump.
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
        self.store_ahead += step.jump
        if step.jump < 0:  # or a process would miss a clock that goes back and forward again
            for process in range(PROCESSES):
                self.acts(process)
        self.acts(step.process, step.source, step.late)

    def acts(self, process: int, source: str | None = None, late: int = 0) -> None:
        """Take a turn of the group as loaded, as the commit queue does."""
        sent, monotonic_ahead = self.now, 10**6 * process
        self.now += late
        store_ms, clock = sent + late // 2 + self.store_ahead, self.clocks[process]
        clock.observe(sent + monotonic_ahead, store_ms, self.now + monotonic_ahead)
        jumps = [jump for jump in clock.jumps if jump.number > self.accounted[process]]
        if source is not None:
            self.heard[source] = sent + late // 2
        now = Now(store_ms, jumps=tuple(jumps))
        if source is not None and (source, 0) not in self.group.readers:
            self.group = turn(self.group, [Register(source, ReaderRegistrationEvent(subtask=0))], now).group
        self.group = turn(self.group, [] if source is None else [self.report(source)], now).group
        self.accounted[process] = max([0, *(jump.number for jump in clock.jumps)])

    def report(self, source: str) -> Reports:
        epoch = self.group.readers[source, 0].epoch
        return Reports([(source, ReportedWatermarkEvent(subtask=0, epoch=epoch, watermark=5))])

    @property
    def lost(self) -> set[str]:
        return {source for (source, _), reader in self.group.readers.items() if reader.lost}

    @property
    def alive(self) -> set[str]:
        """The readers that were heard within their lease, by less than the precision of leases."""
        return {source for source, at in self.heard.items() if self.now - at < LEASE - PRECISION_MS}


@examples(300)
@given(st.lists(steps, max_size=30))
def test_no_reader_heard_within_its_lease_is_lost_by_clock_jumps(script: list[Step]) -> None:
    world = World()
    for step in script:
        world.takes(step)
        assert not world.lost & world.alive


@examples(100)
@given(st.lists(steps, max_size=20))
def test_a_dead_reader_is_lost_once_the_clock_jumps_no_more(script: list[Step]) -> None:
    world = World()
    for step in script:
        world.takes(step)
    for process in range(PROCESSES):  # each notices the last jump
        world.acts(process, "b")
    for _ in range(3 * LEASE // 500):
        world.now += 500
        world.acts(0, "b")
    assert world.lost == {"a", "c"}
