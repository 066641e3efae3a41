"""Scheduled AvailableNow runs over sources of which another one is empty each time (SPARK-50046):
nothing is late, nobody waits for ever.

Spark keeps one watermark for a query and forgets each source's own when a run ends: with
alternating empty sources it never leaves 0. Here the sources are queries of their own, in one
group. Each run reads what is there, up to the ceiling, and parks. In between nobody runs.
"""

from dataclasses import dataclass, field

import pytest

from lockgate.group.group import Group, create
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent
from support.turns import evaluate, register, report

MINUTE, HOUR = 60_000, 3_600_000
START = 1_800_000_000_000
LATE = 5 * MINUTE  # how far behind the clock a producer may be
ROUNDS, ROUND_MS = 50, 1_000  # within which a run has to end


@dataclass
class Source:
    """A log in order of event time, and what its runs have read of it."""

    name: str
    log: list[int] = field(default_factory=list)
    read: int = 0
    epoch: int = 0
    until: int = START

    def produced(self, now_ms: int, *, quiet: bool) -> None:
        """A record a minute since the last time, or none."""
        self.log += [] if quiet else range(self.until, now_ms, MINUTE)
        self.until = now_ms

    def watermark(self, now_ms: int) -> int:
        """Of the next record, or of what may still come."""
        return self.log[self.read] - 1 if self.read < len(self.log) else now_ms - LATE


@dataclass
class Schedule:
    """Runs in one group. `late`: records that were read when others were more than the drift above
    them; `unread`: what each run left.
    """

    group: Group
    park_ms: int | None
    sources: dict[str, Source] = field(default_factory=lambda: {name: Source(name) for name in "abc"})
    foremost: int = 0
    late: int = 0
    unread: list[int] = field(default_factory=list)

    def says(self, source: Source, now_ms: int, park_ms: int | None = None) -> int:
        event = ReportedWatermarkEvent(
            subtask=0, epoch=source.epoch, watermark=source.watermark(now_ms), park_ms=park_ms
        )
        self.group, announced = evaluate(report(self.group, source.name, event, now_ms), now_ms)
        return announced.max_desired_watermark

    def run(self, names: str, now_ms: int) -> None:
        """All of them read what there is, round by round, and end."""
        running = [self.sources[name] for name in names]
        for source in running:
            self.group = register(
                self.group, source.name, ReaderRegistrationEvent(subtask=0, owner=source.name), now_ms
            )
            source.epoch = self.group.readers[source.name, 0].epoch
        for source in running:
            self.says(source, now_ms)
        for turn in range(ROUNDS):
            for source in running:
                ceiling = self.says(source, now_ms + turn * ROUND_MS)
                while source.read < len(source.log) and source.log[source.read] <= ceiling:
                    self.late += source.log[source.read] < self.foremost - self.group.config.max_drift_ms
                    self.foremost = max(self.foremost, source.log[source.read])
                    source.read += 1
        self.unread.append(sum(len(source.log) - source.read for source in running))
        for source in running:
            self.says(source, now_ms + ROUNDS * ROUND_MS, park_ms=self.park_ms)


def hours(park_ms: int | None, *, apart_ms: int, drift_ms: int = 10 * MINUTE) -> Schedule:
    """Each hour another one of the three sources is empty; the runs are all on the hour, or one
    after the other.
    """
    config = GroupConfig(max_drift_ms=drift_ms, catch_up=CatchUp.STRICT, expected_sources=("a", "b", "c"))
    schedule = Schedule(create("g", config, START), park_ms)
    for hour in range(1, 10):
        for place, source in enumerate(schedule.sources.values()):
            now_ms = START + hour * HOUR + place * apart_ms
            source.produced(now_ms, quiet=place == hour % 3)
            if apart_ms:
                schedule.run(source.name, now_ms)
        if not apart_ms:
            schedule.run("abc", START + hour * HOUR)
    return schedule


def test_runs_over_alternating_empty_sources_read_all_in_time() -> None:
    schedule = hours(park_ms=2 * HOUR, apart_ms=0)
    assert (schedule.late, sum(schedule.unread)) == (0, 0)
    assert [len(source.log) for source in schedule.sources.values()] == [360, 360, 360]


def test_runs_apart_never_get_ahead_of_what_a_parked_one_has_still_to_read() -> None:
    schedule = hours(park_ms=2 * HOUR, apart_ms=10 * MINUTE)
    assert schedule.late == 0
    assert all(source.read > 0 for source in schedule.sources.values())


def test_scheduled_runs_read_all_with_drift_above_their_period() -> None:
    schedule = hours(park_ms=2 * HOUR, apart_ms=10 * MINUTE, drift_ms=HOUR + 2 * LATE)
    assert sum(schedule.unread[3:]) == 0  # of the first three two have to wait for the common start


def test_without_parking_runs_apart_forget_each_other_and_rows_are_late() -> None:
    assert hours(park_ms=None, apart_ms=10 * MINUTE).late > 0


@pytest.mark.parametrize("hour", [10, 11])
def test_nobody_waits_for_ever_for_a_source_whose_runs_have_ended_for_good(hour: int) -> None:
    schedule = hours(park_ms=2 * HOUR, apart_ms=0)
    last, now_ms = schedule.sources["a"], START + hour * HOUR + 30 * MINUTE
    last.produced(now_ms, quiet=False)
    schedule.run("a", now_ms)
    assert (schedule.unread[-1] > 0) == (hour == 10)  # the others are parked until a minute past 11
