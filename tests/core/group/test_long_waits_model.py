"""Long waits under random commands, against a naive reading of the protocol that looks at all
readers each time.
"""

import copy
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from lockgate.group.group import Group, create
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import (
    CatchUp,
    GroupConfig,
    OnLostReader,
    OnMaxWait,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
)
from support.examples import examples
from support.turns import decide, evaluate, evict, next_deadline, register, report

LEASE, TOLERANCE, HOLD, DRIFT, START = 120, 40, 50, 10, 1_000
Step = tuple[str, int, int, int]
"""What is done, by which subtask, after how many ms, with which watermark."""

steps = st.tuples(
    st.sampled_from(["report"] * 8 + ["idle", "register", "evict", "look"]),
    st.integers(0, 2),
    st.sampled_from([0, 1, 10, 20, 39, 40, 41, 49, 50, 119, 120, 300, -100]),
    st.sampled_from([0, 5, 9, 10, 11, 20, 21, 30, 1_000, 1_010, MAX]),
)

a_wait_of_50: list[Step] = [
    ("report", 0, 0, 0),
    ("report", 1, 0, 1_000),
    ("report", 1, 0, 1_000),
    ("report", 0, 10, 0),
    ("report", 1, 40, 1_000),
]


@dataclass
class One:
    """A reader. `watermark` is MAX while it is idle, None before its first report."""

    heard: int
    watermark: int | None = None
    excused: bool = False
    lost: bool = False
    since: int | None = None
    overdue: bool = False
    passed: bool = False


@dataclass
class Naive:
    config: GroupConfig
    readers: dict[int, One] = field(default_factory=dict)
    heard: int | None = None
    losses: int | None = None
    reported: bool = False
    announced: tuple[int, int] = (MIN, MAX)

    def counted(self) -> list[int]:
        holds = self.config.on_lost_reader is OnLostReader.HOLD
        found = self.readers.values()
        return [
            one.watermark for one in found if one.watermark is not None and not one.passed and (holds or not one.lost)
        ]

    def values(self) -> tuple[int, int]:
        if not self.reported:
            return MIN, MAX
        lowest = min(self.counted(), default=MAX)
        return lowest, MAX if lowest == MAX else lowest + DRIFT

    def silence(self, now: int) -> int:
        silence = 0 if self.heard is None else now - self.heard
        return silence if abs(silence) > TOLERANCE else 0

    def time(self, now: int) -> None:
        """What is so at `now` by time alone."""
        if self.losses is not None and self.losses - now > TOLERANCE:
            self.losses = now
            for one in self.readers.values():
                one.lost = one.lost and now - one.heard >= LEASE
        for one in self.readers.values():
            ended = one.watermark is not None and now - one.heard >= LEASE
            if ended and not one.lost:
                one.lost, one.since, one.overdue, self.losses = True, None, False, now
        if self.silence(now):
            return
        late = [
            one
            for one in self.readers.values()
            if one.since is not None and not one.overdue and now - one.since >= HOLD
        ]
        if self.config.on_max_wait is OnMaxWait.ALARM or not late:
            for one in late:
                one.overdue = True
            return
        highest = max(one.watermark for one in late if one.watermark is not None)
        for one in self.readers.values():
            holds = one.watermark is not None and (not one.lost or self.config.on_lost_reader is OnLostReader.HOLD)
            # holds
            if holds and not one.passed and one.since is None and one.watermark + DRIFT <= highest:  # type: ignore[operator]
                one.passed = True
        for one in late:
            one.since = now

    def word(self, now: int) -> None:
        """Somebody speaks."""
        silence = self.silence(now)
        self.losses = None if silence < 0 else self.losses
        for one in self.readers.values() if silence else ():
            one.since = None if one.since is None else one.since + silence
            if silence < 0 or not one.excused:
                one.heard += silence
                one.excused = one.excused or silence > 0
                one.lost = one.lost and now - one.heard >= LEASE
        self.heard = now if silence or self.heard is None else max(self.heard, now)

    def report(self, subtask: int, watermark: int, now: int) -> None:
        self.word(now)
        one, (lowest, ceiling) = self.readers[subtask], self.announced
        got_on = one.watermark is not None and watermark > one.watermark
        if not (lowest < watermark < MAX and watermark >= ceiling):
            one.since, one.overdue = None, False
        elif one.since is None or got_on:
            one.since, one.overdue = now, False
        one.passed = one.passed and watermark + DRIFT < lowest < MAX
        one.watermark, one.heard, one.excused, one.lost = watermark, now, False, False
        self.reported = True

    def register(self, subtask: int, now: int) -> None:
        self.word(now)
        old = self.readers.get(subtask)
        kept = None
        if old is not None and (now - old.heard < LEASE or self.config.on_lost_reader is OnLostReader.HOLD):
            kept = old.watermark
        self.readers[subtask] = One(now, kept, passed=old is not None and old.passed)


def done(group: Group, naive: Naive, step: Step, now: int) -> Group:
    what, subtask, _, watermark = step
    known = subtask in naive.readers
    if what == "register" or (what in ("report", "idle") and not known):
        naive.register(subtask, now)
        group = register(group, "a", ReaderRegistrationEvent(subtask=subtask), now)
    if what in ("report", "idle"):
        idle = what == "idle"
        event = ReportedWatermarkEvent(
            subtask=subtask, epoch=group.readers["a", subtask].epoch, watermark=watermark, idle=idle
        )
        naive.report(subtask, MAX if idle else watermark, now)
        group = report(group, "a", event, now)
    if what == "evict" and known:
        del naive.readers[subtask]
        group = evict(group, "a", subtask)
    return group


@examples(200)
@given(
    st.sampled_from(OnMaxWait),
    st.sampled_from(OnLostReader),
    st.sampled_from([[], a_wait_of_50]),
    st.lists(steps, max_size=30),
)
def test_waits_end_as_in_the_naive_model(
    then: OnMaxWait, lost: OnLostReader, before: list[Step], script: list[Step]
) -> None:
    config = GroupConfig(
        max_drift_ms=DRIFT, lease_ms=LEASE, update_interval_ms=10, catch_up=CatchUp.STRICT, max_wait_ms=HOLD
    )
    config = replace(config, on_max_wait=then, on_lost_reader=lost)
    group, naive, now = create("g", config, START), Naive(config), START
    for step in before + script:
        now += step[2]
        ahead = copy.deepcopy(naive)
        ahead.time(now)
        decision = decide(group, now)
        assert (decision.group_watermark, decision.ceiling) == ahead.values()  # by time alone
        group = evaluate(done(group, naive, step, now), now)[0]
        naive.time(now)
        naive.announced = naive.values()
        assert (group.group_watermark, group.max_desired_watermark) == naive.announced
        flags = {
            key[1]: (reader.held_since, reader.overdue, reader.passed_over) for key, reader in group.readers.items()
        }
        assert flags == {subtask: (one.since, one.overdue, one.passed) for subtask, one in naive.readers.items()}
        # or who looks again at the deadline would never rest
        assert (next_deadline(group, now) or MAX) > now
