"""The model behind the claim "no row is late": live feeds of arbitrary producers, the planner, and
Spark's watermark.

A feed is a list of appends (wall clock, split, event time). A query polls at arbitrary wall clocks;
each poll makes a plan and reads it. Spark's watermark is the highest event time of all batches
before, minus the delay; a row at or below it is dropped. (Spark filters with the watermark one
batch older than that: the model gives it no such slack.)
"""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate import watermark
from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Bounds
from lockgate.plan.producer_lag import ProducerLag
from lockgate.plan.search import Curve
from support.examples import ALL, examples
from support.logs_in_memory import LogsInMemory

SPLITS = ("a", "b", "c")


@dataclass(frozen=True)
class Append:
    wall: int
    split: str
    event_time: int


@dataclass
class Account:
    """Rows that Spark dropped: `within` the lag that their producer had shown, or `beyond` it."""

    within: int = 0
    beyond: int = 0
    read: int = 0
    behind: int = 0  # ms, of the last plan

    @property
    def lost(self) -> int:
        return self.within + self.beyond


def played(
    feed: list[Append],
    polls: list[int],
    bounds: Bounds,
    delay: int,
    budget: int | None = None,
    learns_up_to: int | None = None,
    at_the_edge: bool = False,
    splits: tuple[str, ...] = SPLITS,
) -> Account:
    """Let the planner decide what each poll reads. `learns_up_to`: it learns each producer's lag,
    up to this limit; `at_the_edge`: what would be further behind than the learned is at its edge.
    """
    logs: dict[str, list[int]] = {split: [] for split in splits}
    within: dict[str, list[bool]] = {split: [] for split in splits}
    positions = dict.fromkeys(splits, 0)
    lags = {} if learns_up_to is None else {split: ProducerLag(learns_up_to) for split in splits}
    # up to which event time the bounds so far expect nothing more
    closed = dict.fromkeys(splits, watermark.MIN)
    pending, account, highest = sorted(feed, key=lambda append: append.wall), Account(), watermark.MIN
    curve: Curve | None = None
    for now in sorted(polls):
        while pending and pending[0].wall <= now:
            append = pending.pop(0)
            event_time = max(append.event_time, closed[append.split]) if at_the_edge else append.event_time
            logs[append.split].append(event_time)
            within[append.split].append(event_time >= closed[append.split])
        view = LogsInMemory(logs, positions, {split: len(log) for split, log in logs.items()})
        heads, backlogs = view.heads(), view.backlogs(now)
        for split, lag in lags.items():
            lag.look(now, positions[split], len(logs[split]), heads.get(split))
            bound = lag.bound(now, bounds.max_drift)
            closed[split] = max(closed[split], now - bound)
            backlogs[split] = replace(backlogs[split], lag_bound=bound)
        made = Draft(LogAnswers(backlogs, view, bounds, {0: budget}, curve))
        plan, curve = made.plan(), made.answers.curve
        batch = [(s, offset, logs[s][offset]) for s, p in plan.splits.items() for offset in range(p.position, p.end)]
        for split, offset, event_time in batch:
            if event_time <= watermark.add(highest, -delay):
                account.within += within[split][offset]
                account.beyond += not within[split][offset]
        account.read += len(batch)
        account.behind = now - min(plan.ceiling, now)
        highest = max([highest, *(event_time for _, _, event_time in batch)])
        positions = {split: each.end for split, each in plan.splits.items()}
    return account


@st.composite
def feeds(draw: st.DrawFn, bounds: Bounds) -> list[Append]:
    """Append in order of wall clock, each at most idle_timeout old and at most disorder below its
    split's highest.
    """
    highest = dict.fromkeys(SPLITS, watermark.MIN)
    feed, wall = [], 0
    for split, pause, age, step_back in draw(
        st.lists(
            st.tuples(
                st.sampled_from(SPLITS),
                st.integers(0, 400),
                st.integers(0, bounds.idle_timeout),
                st.integers(0, bounds.disorder),
            ),
            max_size=50,
        )
    ):
        wall += pause
        event_time = max(wall - age, highest[split] - step_back, wall - bounds.idle_timeout)
        highest[split] = max(highest[split], event_time)
        feed.append(Append(wall, split, event_time))
    return feed


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Append], list[int], Bounds, int | None]:
    disorder = draw(st.integers(0, 100))
    bounds = Bounds(
        max_drift=draw(st.integers(disorder + 1, 500)), idle_timeout=draw(st.integers(0, 3000)), disorder=disorder
    )
    polls = draw(st.lists(st.integers(0, 25_000), min_size=1, max_size=60))
    return draw(feeds(bounds)), polls, bounds, draw(st.one_of(st.none(), st.integers(1, 20)))


@examples(400)
@given(worlds())
def test_no_row_of_any_live_feed_within_the_bounds_is_late(
    world: tuple[list[Append], list[int], Bounds, int | None],
) -> None:
    feed, polls, bounds, budget = world
    assert played(feed, polls, bounds, delay=max(bounds.max_drift, bounds.disorder), budget=budget).lost == 0


@examples(100)
@given(worlds())
def test_every_row_is_read_at_the_latest_when_idle_timeout_has_passed(
    world: tuple[list[Append], list[int], Bounds, int | None],
) -> None:
    feed, polls, bounds, budget = world
    end = max([0, *(append.wall for append in feed), *polls]) + bounds.idle_timeout + 1
    polls = [*polls, *[end] * (len(feed) + 1)]
    assert played(feed, polls, bounds, delay=bounds.max_drift, budget=budget).read == len(feed)


# -- a slow live split: the hole that "a backlog bounds nothing" leaves open --

HOUR = 3_600_000
MINUTE = 60_000


def slow_live_feed(late_by: int, step: int) -> list[Append]:
    """Split a is `late_by` ms behind with a record every `step` ms; split b is on time."""
    start = 10 * HOUR
    walls = range(start, start + HOUR, step)
    return [Append(wall, "a", wall - late_by) for wall in walls] + [
        Append(wall, "b", wall) for wall in range(start, start + HOUR, 1000)
    ]


def lost_of_slow_feed(*, late_by: int, step: int, idle_timeout: int, delay: int = 10 * MINUTE) -> int:
    feed = slow_live_feed(late_by, step)
    polls = list(range(10 * HOUR, 16 * HOUR, 21_000))
    account = played(feed, polls, Bounds(max_drift=10 * MINUTE, idle_timeout=idle_timeout), delay, splits=("a", "b"))
    assert account.read == len(feed)
    return account.lost


def test_producer_three_hours_behind_loses_nothing_within_idle_timeout() -> None:
    for step in (*((5_000,) if ALL else ()), 30_000, 120_000):
        assert lost_of_slow_feed(late_by=3 * HOUR, step=step, idle_timeout=4 * HOUR) == 0


def test_a_producer_further_behind_than_idle_timeout_loses_rows() -> None:
    assert lost_of_slow_feed(late_by=3 * HOUR, step=600_000, idle_timeout=MINUTE) > 0


def test_a_delay_below_max_drift_loses_rows() -> None:
    assert lost_of_slow_feed(late_by=8 * MINUTE, step=30_000, idle_timeout=4 * HOUR, delay=5 * MINUTE) > 0


@pytest.mark.parametrize(("delay", "lost"), [(500, 0), (499, 1)])
def test_the_condition_is_tight_a_delay_1_ms_below_max_drift_loses_a_row(delay: int, lost: int) -> None:
    feed = [Append(1000, "a", 1000), Append(1000, "b", 1499), Append(2000, "a", 1000)]
    bounds = Bounds(max_drift=500, idle_timeout=100_000)
    account = played(feed, [1500, 2500], bounds, delay, splits=("a", "b"))
    assert (account.lost, account.read) == (lost, 3)


def test_more_disorder_than_promised_loses_rows() -> None:
    feed = [Append(1000, "a", 1000), Append(1000, "b", 1400), Append(2000, "a", 200)]

    def lost(disorder: int) -> int:
        bounds = Bounds(max_drift=disorder + 501, idle_timeout=100_000, disorder=disorder)
        return played(feed, [1500, 2500], bounds, delay=bounds.max_drift, splits=("a", "b")).lost

    assert lost(disorder=100) > 0
    assert lost(disorder=800) == 0
