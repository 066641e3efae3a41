"""What the planner finds, against all that it could have found."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.answers import MOST_LOOK_UPS, LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds, Plan
from lockgate.plan.search import GOOD_ENOUGH, Curve
from lockgate.watermark import MAX
from support.examples import ALL
from support.logs_in_memory import LogsInMemory

REPLAY = 10**12  # a wall clock far above every event time here
BOUNDS = Bounds(max_drift=1000, idle_timeout=0)
SOURCE_OF = {"a": 0, "b": 0, "c": 1, "d": 2}


@dataclass
class World:
    """Logs of three sources, and a budget for each."""

    logs: Mapping[str, Sequence[int]]
    budgets: dict[int, int | None]

    def ends(self, event_time: int) -> dict[str, int]:
        """Each split's first record above it."""
        return {
            split: next((o for o, t in enumerate(log) if t > event_time), len(log)) for split, log in self.logs.items()
        }

    def use(self, ends: Mapping[str, int]) -> float:
        spent = {
            source: sum(end for split, end in ends.items() if SOURCE_OF[split] == source) for source in self.budgets
        }
        return max(
            (spent[source] / budget for source, budget in self.budgets.items() if budget is not None), default=0.0
        )

    def best(self) -> dict[str, int]:
        """By trying every event time there is: the ends of the greatest one within all budgets."""
        times = sorted({time for log in self.logs.values() for time in log})
        tried = [self.ends(times[0] - 1 if times else 0), *map(self.ends, times)]
        return [ends for ends in tried if self.use(ends) <= 1][-1]

    def draft(self) -> Draft[str]:
        view = LogsInMemory.from_start(**self.logs)
        return Draft(LogAnswers(view.backlogs(REPLAY, SOURCE_OF), view, BOUNDS, self.budgets))

    def is_optimal(self, plan: Plan[str]) -> bool:
        ends = {split: made.end for split, made in plan.splits.items()}
        # one timestamp is more than a budget: it is read in parts
        shared = self.use(self.best()) == 0
        return self.use(ends) <= 1 and (self.use(ends) >= GOOD_ENOUGH or ends == self.best() or shared)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    logs = {split: draw(st.lists(st.integers(0, 100_000), max_size=40)) for split in SOURCE_OF}
    return World(logs, {source: draw(st.none() | st.integers(1, 60)) for source in (0, 1, 2)})


@given(worlds())
def test_plan_is_the_greatest_within_all_budgets_or_has_looked_most(world: World) -> None:
    made = world.draft()
    plan = made.plan()
    assert world.use({split: each.end for split, each in plan.splits.items()}) <= 1
    assert world.is_optimal(plan) or made.answers.look_ups >= MOST_LOOK_UPS - 7


def test_first_plans_over_bursts_with_small_budgets_are_all_optimal() -> None:
    random_, found = random.Random(3), []
    for _ in range(300 if ALL else 60):
        bursts = [random_.randrange(3_600_000) for _ in range(5)]
        logs = {
            split: sorted(
                random_.choice(bursts) + int(random_.expovariate(1 / 60_000)) for _ in range(random_.randrange(300))
            )
            for split in SOURCE_OF
        }
        world = World(logs, {source: random_.randrange(20, 200) for source in (0, 1, 2)})
        made = world.draft()
        found.append((world.is_optimal(made.plan()), made.answers.look_ups))
    assert all(optimal for optimal, _ in found)
    # nothing was learned yet, and 99 % of so little is all of it
    assert sorted(looks for _, looks in found)[len(found) // 2] <= 12


def test_a_gap_in_the_logs_is_asked_about_once() -> None:
    view = LogsInMemory.from_start(a=[0, 10, 90_000], b=[5, 15, 95_000])
    made = Draft(LogAnswers(view.backlogs(REPLAY), view, BOUNDS, {0: 5}))
    made.plan()
    gaps = [sum(time <= asked for log in view.logs.values() for time in log) for asked in view.asked]
    assert len(gaps) == len(set(gaps))


@given(worlds(), st.integers(0, 100_000))
def test_first_unread_records_bound_the_search_if_they_break_a_budget(world: World, event_time: int) -> None:
    bound = world.draft().answers.look(event_time).full
    assert bound == MAX or world.use(world.ends(bound)) > 1


def test_many_splits_of_a_few_records_take_three_look_ups_beside_the_heads() -> None:
    """A record in each of 600 splits, a budget of 100: the heads alone say how far it reaches at
    most.
    """
    random_ = random.Random(7)
    logs = {f"s{n}": sorted(random_.sample(range(100_000, 10_000_000), 3)) for n in range(600)}
    view = LogsInMemory.from_start(**logs)
    made = Draft(LogAnswers(view.backlogs(REPLAY), view, BOUNDS, {0: 100}, Curve(((0, 0.0), (10_000_000, 18.0)))))
    assert made.plan().offsets >= 99
    assert len(view.asked) <= 3


@given(worlds(), st.integers(-10, 110_000), st.integers(0, 200_000))
def test_no_plan_asks_more_often_than_the_hard_cap(world: World, ceiling: int, now: int) -> None:
    view = LogsInMemory.from_start(**world.logs)
    made = Draft(
        LogAnswers(view.backlogs(now, SOURCE_OF), view, Bounds(max_drift=50, idle_timeout=1_000), world.budgets)
    )
    stops = made.answers.cut(made.target)
    assert all(head.event_time > made.target for head in stops.values())
    made.plan(ceiling)
    assert made.answers.look_ups <= MOST_LOOK_UPS


def test_log_made_to_defeat_the_search_is_read_to_its_end() -> None:
    """Gaps that grow by powers: no straight line ever fits."""
    view = LogsInMemory.from_start(
        a=sorted(int(1.07**n) + n % 2 for n in range(600)), b=[int(1.13**n) for n in range(300)]
    )
    batches, learned = 0, None
    while any(view.positions[split] < view.ends[split] for split in view.ends):
        made = Draft(LogAnswers(view.backlogs(10**20), view, BOUNDS, {0: 50}, learned))
        plan, learned = made.plan(), made.answers.curve
        assert 0 < plan.offsets <= 50
        assert made.answers.look_ups <= MOST_LOOK_UPS
        view.positions.update({split: each.end for split, each in plan.splits.items()})
        batches += 1
    assert batches <= 30
