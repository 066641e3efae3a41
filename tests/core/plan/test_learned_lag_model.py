"""The model behind "inside what was shown nothing is lost": arbitrary live feeds, the planner with
learned bounds, and Spark's watermark.

As in `test_plan_model`, but nobody promises how far behind the clock a producer is. Each row is
held against the bounds of all looks before it came, which are what its producer had shown by then:
a row within them is never dropped, whatever the others do.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.test_plan_model import HOUR, MINUTE, SPLITS, Account, Append, played
from lockgate import watermark
from lockgate.plan.model import Bounds
from support.examples import examples

LIMIT = HOUR


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Append], list[int], Bounds, int | None]:
    """Producer whose lag changes from record to record, each in order of its event times up to the
    disorder.
    """
    disorder = draw(st.integers(0, 100))
    bounds = Bounds(max_drift=draw(st.integers(disorder + 1, 500)), idle_timeout=0, disorder=disorder)
    highest = dict.fromkeys(SPLITS, watermark.MIN)
    feed, wall = [], 0
    step = st.tuples(st.sampled_from(SPLITS), st.integers(0, 400), st.integers(0, 5_000), st.integers(0, disorder))
    for split, pause, age, step_back in draw(st.lists(step, max_size=50)):
        wall += pause
        event_time = min(wall, max(wall - age, highest[split] - step_back))
        highest[split] = max(highest[split], event_time)
        feed.append(Append(wall, split, event_time))
    polls = draw(st.lists(st.integers(0, 25_000), min_size=1, max_size=60))
    return feed, polls, bounds, draw(st.one_of(st.none(), st.integers(1, 20)))


@examples(400)
@given(worlds(), st.booleans())
def test_no_row_within_what_its_producer_has_shown_is_late(
    world: tuple[list[Append], list[int], Bounds, int | None], at_the_edge: bool
) -> None:
    feed, polls, bounds, budget = world
    assert played(feed, polls, bounds, bounds.max_drift, budget, LIMIT, at_the_edge).within == 0


# -- one producer on time beside another one, a record in four seconds, looked at as often, with a
# delay of 20 s --

BOUNDS = Bounds(max_drift=20_000, idle_timeout=0)
START = 10 * HOUR
WALLS = range(START, START + 40 * MINUTE, 4_000)
POLLS = list(range(START - 500, START + 80 * MINUTE, 4_000))


def beside_one_on_time(*other: Append) -> Account:
    """Looked at for as long again behind the last record of either."""
    return played([*(Append(wall, "a", wall) for wall in WALLS), *other], POLLS, BOUNDS, 20_000, learns_up_to=LIMIT)


def during(*other: Append) -> Account:
    """The same while both are live."""
    return played(
        [*(Append(wall, "a", wall) for wall in WALLS), *other],
        [poll for poll in POLLS if poll <= WALLS[-1]],
        BOUNDS,
        20_000,
        learns_up_to=LIMIT,
    )


@pytest.mark.parametrize("behind", [30_000, 30 * MINUTE, 3 * HOUR])
def test_active_producer_holds_the_others_however_far_behind(behind: int) -> None:
    late = [Append(wall, "b", wall - behind) for wall in WALLS]
    assert beside_one_on_time(*late).lost == 0
    assert during(*late).behind == pytest.approx(behind - BOUNDS.max_drift, abs=8_000)


def test_a_silent_split_costs_no_second_where_nothing_was_shown() -> None:
    assert during().behind <= 4_000


def test_producer_late_once_holds_the_others_by_that_and_a_quarter() -> None:
    assert during(Append(START + 1, "b", START + 1 - 5 * MINUTE)).behind == pytest.approx(
        5 * MINUTE * 1.25 - 20_000, abs=8_000
    )


def test_producer_that_commits_every_five_minutes_loses_first_commits() -> None:
    commits = [Append(wall // (5 * MINUTE) * 5 * MINUTE + 5 * MINUTE, "b", wall) for wall in WALLS]
    account = beside_one_on_time(*commits)
    assert (account.within, account.beyond) == (0, 70), "of the first one what is older than the delay"


def test_a_producer_that_falls_behind_slowly_loses_nothing() -> None:
    assert beside_one_on_time(*(Append(wall, "b", wall - (wall - START) // 10) for wall in WALLS)).lost == 0


def test_a_single_absurd_record_of_an_on_time_split_moves_nothing() -> None:
    on_time = [Append(wall, "b", wall) for wall in WALLS if wall < START + 10 * MINUTE]
    assert during(*on_time, Append(START + 10 * MINUTE, "b", 1)).behind <= 4_000


@pytest.mark.parametrize(("further_behind", "lost"), [(0, 0), (1, 1)])
def test_row_1_ms_beyond_the_shown_lag_and_a_quarter_is_late(further_behind: int, lost: int) -> None:
    dense = [Append(wall, "a", wall) for wall in range(20_000, 60_000)]
    shows = Append(30_001, "b", 26_000)  # 4 s behind the look at 30,000
    comes = Append(50_001, "b", 50_000 - 5_000 - further_behind)
    bounds, polls = Bounds(max_drift=1_000, idle_timeout=0), [30_000, 31_000, 50_000, 52_000]
    account = played([*dense, shows, comes], polls, bounds, delay=1_000, learns_up_to=LIMIT)
    assert (account.within, account.beyond) == (0, 1 + lost), "the first one showed it, and was late"
