"""The model behind `lockgate.group.alignment`: random fleets in virtual time, and the rate at which
a day of backlog drains.
"""

from dataclasses import dataclass, replace
from itertools import accumulate

import pytest
from hypothesis import HealthCheck, Phase, event, given
from hypothesis import strategies as st

from lockgate.plan.model import Bounds, Plan
from lockgate.wire.events import CatchUp, GroupConfig, Mode, OnLostReader
from support.examples import ALL, examples
from support.fleet import START, Announced, Batch, Death, Fleet, Member, Query, Reported
from support.fleet_claims import Claims

HOUR = 3_600_000
MINUTE = 60_000
LEASE = 3_000
DRIFT = 30_000

deaths = st.builds(
    Death,
    at=st.integers(0, 5_000),
    back_after=st.none() | st.sampled_from([10, 500, 2_500, 6_000]),
    batches_back=st.sampled_from([0, 0, 1, 3]),
    budget=st.none() | st.integers(1, 4),
)


@st.composite
def members(draw: st.DrawFn, index: int, max_drift: int) -> Member:
    """Return a query over up to three splits: of old records that are all there, of live ones that
    come late, or of none. One may be new, and its records old.
    """
    disorder = draw(st.integers(0, min(20, max_drift - 1)))
    bounds = Bounds(max_drift=max_drift, idle_timeout=draw(st.sampled_from([0, 300, 2_000])), disorder=disorder)
    live = draw(st.booleans())
    logs, appended = {}, {}
    for split in "abc"[: draw(st.integers(1, 3))]:
        steps = draw(st.lists(st.tuples(st.integers(0, 300), st.integers(0, disorder)), max_size=12))
        walls = list(accumulate(step for step, _ in steps))
        behind = draw(st.integers(0, bounds.idle_timeout)) if live else 0
        first = START if live else START // 2
        oldest = bounds.idle_timeout if live else first
        pairs = zip(walls, steps, strict=True)
        logs[split] = [first + max(wall - behind - back, wall - oldest) for wall, (_, back) in pairs]
        appended[split] = walls
    opens = {"new": draw(st.integers(1, 2_000))} if draw(st.integers(0, 3)) == 0 else {}
    for split, wall in opens.items():
        oldest = START // 2 - draw(st.integers(0, 1_000))
        logs[split] = [oldest + step for step in sorted(draw(st.lists(st.integers(0, 1_500), min_size=1, max_size=12)))]
        appended[split] = [wall] * len(logs[split])
    return Member(
        name=f"q{index}",
        logs=logs,
        appended=appended if live else None,
        opens=opens,
        bounds=bounds,
        budget=draw(st.none() | st.integers(1, 12)),
        rate=draw(st.sampled_from([0.01, 0.1, 10])),
        overhead=draw(st.integers(0, 300)),
        trigger=draw(st.sampled_from([0, 0, 400])),
        http=draw(st.integers(0, 40)),
        announce=draw(st.integers(0, 500)),
        obeys=draw(st.booleans()),
        waits=draw(st.booleans()),
        starts=draw(st.sampled_from([0, 0, 0, 1_000])),
        finishes=draw(st.booleans()),
        deaths=tuple(draw(st.lists(deaths, max_size=2))) if draw(st.integers(0, 2)) == 0 else (),
    )


@st.composite
def fleets(draw: st.DrawFn) -> tuple[GroupConfig, list[Member]]:
    max_drift = draw(st.integers(1, 300))
    config = GroupConfig(
        max_drift_ms=max_drift,
        lease_ms=LEASE,
        update_interval_ms=draw(st.sampled_from([50, 200, 1_000])),
        on_lost_reader=draw(st.sampled_from(OnLostReader)),
        catch_up=draw(st.sampled_from(CatchUp)),
    )
    return config, [draw(members(index, max_drift)) for index in range(draw(st.integers(2, 8)))]


# Not shrunk: that takes minutes for a whole fleet, and the claim that fails says who left whom
# behind.
@examples(
    120,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(fleets())
def test_whatever_happens_to_a_fleet_the_claims_of_catch_up_hold(world: tuple[GroupConfig, list[Member]]) -> None:
    config, queries = world
    claims = Claims(config.max_drift_ms, joint=config.catch_up is CatchUp.JOINT)
    fleet = Fleet(config, queries, claims)
    fleet.run(5 * MINUTE if config.on_lost_reader is OnLostReader.EXCLUDE else 20_000)
    assert claims.late == 0
    waiting = [query.member.name for query in fleet.queries if query.done_at is None and not query.gone]
    held = config.on_lost_reader is OnLostReader.HOLD
    assert not waiting or held, f"{waiting} wait for ever"
    event(f"{len(waiting)} waiting")
    event(f"held {min(claims.held_plans, 3)}")
    event(f"hold {held}")
    event(f"{config.catch_up}")
    event(f"new split {any(query.member.opens for query in fleet.queries)}")
    event(f"ahead {min(claims.worst // config.max_drift_ms, 3)} drifts")
    event(f"rewound {any(query.rewinds for query in fleet.queries)}")


# -- how fast a day of backlog drains --


class Unmoved:
    """An observer that looks away."""

    def planned(self, query: Query, batch: Batch) -> None: ...

    def held(self, query: Query, plan: Plan[str], latest: Announced, report: Reported) -> None: ...

    def committed(self, query: Query, batch: Batch) -> None: ...


@dataclass(frozen=True)
class Load:
    """A hundredth of a query: a record every `every` ms of event time, `rate` records a second,
    `budget` and `overhead` (ms) a batch.
    """

    every: int
    rate: int
    budget: int
    overhead: int = 300

    def member(self, index: int, hours: int, trigger: int, waits: bool) -> Member:
        return Member(
            name=f"q{index}",
            logs={"a": range(0, hours * HOUR, self.every), "b": range(self.every // 3, hours * HOUR, 4 * self.every)},
            bounds=Bounds(max_drift=DRIFT, idle_timeout=MINUTE),
            budget=self.budget,
            rate=self.rate / 1000,
            overhead=self.overhead,
            http=5,
            announce=50,
            trigger=trigger,
            waits=waits,
            starts=37 * index,
        )


EQUAL = [Load(500, 10_000, 20_000), Load(500, 10_000, 20_000)]
SLOWER = [Load(500, 10_000, 20_000), Load(500, 2_000, 20_000)]
DENSER = [Load(200, 10_000, 10_000), Load(10_000, 10_000, 10_000)]
EIGHT = [
    Load(5_000, 5_000, 2_000),
    Load(250, 10_000, 10_000),
    Load(1_000, 2_000, 20_000),
    Load(250, 5_000, 20_000),
    Load(5_000, 10_000, 10_000),
    Load(1_000, 5_000, 2_000),
    Load(500, 10_000, 10_000),
    Load(2_000, 2_000, 5_000),
]


def seconds(loads: list[Load], config: GroupConfig, hours: int, trigger: int, waits: bool) -> float:
    """Until the last one has read everything."""
    fleet = Fleet(
        config, [load.member(index, hours, trigger, waits) for index, load in enumerate(loads)], Unmoved(), exact=False
    )
    fleet.run(24 * HOUR)
    done_at = [query.done_at for query in fleet.queries if query.done_at is not None]
    assert len(done_at) == len(loads), "some wait for ever"
    return (max(done_at) - START) / 1000


def drain_rate(
    loads: list[Load], catch_up: CatchUp = CatchUp.JOINT, *, hours: int = 24, trigger: int = 0, waits: bool = True
) -> float:
    """Of the slowest one's rate without a group: 1 is as fast."""
    config = GroupConfig(max_drift_ms=DRIFT, catch_up=catch_up)
    alone = seconds(loads, replace(config, mode=Mode.OBSERVE), hours, trigger, waits)
    return alone / seconds(loads, config, hours, trigger, waits)


@pytest.mark.parametrize("loads", [EQUAL, SLOWER, DENSER], ids=["equal", "one is slower", "one is denser"])
def test_two_queries_drain_a_day_at_nine_tenths_of_slower_ones_rate(loads: list[Load]) -> None:
    assert drain_rate(loads) >= 0.9


def test_eight_unequal_queries_drain_a_day_at_0_85_of_slowest_rate() -> None:
    assert drain_rate(EIGHT) >= 0.85


def test_strict_drains_the_same_backlog_at_a_tenth_of_that_rate_or_less() -> None:
    backlogs = (EQUAL, SLOWER, DENSER, EIGHT) if ALL else (EQUAL,)
    assert max(drain_rate(loads, CatchUp.STRICT, hours=4) for loads in backlogs) <= 0.15


def test_plan_held_between_triggers_waits_for_news_not_for_its_trigger() -> None:
    for loads in (EQUAL, EIGHT):
        assert drain_rate(loads, trigger=10_000) >= 0.9
        assert drain_rate(loads, trigger=10_000, waits=False) < 0.8


def test_longer_batch_of_two_is_cut_to_the_shorter_at_worst() -> None:
    def rate(
        fixed: float,
    ) -> float:  # s a batch; alone both take fixed / 3 + 3.75 s for an hour, in batches of one and of three
        short = Load(100, int(45_000 / (3.75 - fixed * 2 / 3)), 45_000, int(1000 * fixed))
        return drain_rate([short, Load(1_000, 1_200, 13_500, int(1000 * fixed))])

    for fixed in (0.3, 1.5):
        assert (fixed / 3 + 3.75) / (fixed + 3.75) <= rate(fixed) <= 1
    assert rate(1.5) < 0.95 < rate(0.3)
