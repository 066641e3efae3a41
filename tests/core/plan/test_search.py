import random
from bisect import bisect_right
from statistics import median

from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.search import GOOD_ENOUGH, MOST_PROBES, Curve, Cut, Found, greatest_within
from lockgate.watermark import MAX
from support.examples import examples

EVENT_TIMES = st.lists(st.integers(0, 10_000_000), min_size=1, max_size=300).map(sorted)
HIGH = 10_000_000


class Feed:
    """One sorted log that counts how often it is looked at; the look at `low` is free, as the
    planner's is.
    """

    def __init__(self, times: list[int], budget: int) -> None:
        self.times, self.budget, self.looks = times, budget, -1

    def use(self, event_time: int) -> float:
        return bisect_right(self.times, event_time) / self.budget

    def look(self, event_time: int) -> Cut:
        self.looks += 1
        after = bisect_right(self.times, event_time)
        return Cut(event_time, after / self.budget, self.times[after] if after < len(self.times) else MAX)

    def is_optimal(self, found: Found) -> bool:
        if self.use(found.target) > 1:
            return False
        return self.use(found.target) >= GOOD_ENOUGH or found.target == HIGH or self.use(found.target + 1) > 1


@given(EVENT_TIMES, st.integers(1, 200), st.integers(-5, 10_000_005))
def test_found_time_is_the_greatest_within_budget_or_uses_nearly_all(times: list[int], budget: int, guess: int) -> None:
    feed = Feed(times, budget)
    found = greatest_within(feed.look, times[0] - 1, HIGH, guess, most=1_000)
    assert times[0] - 1 <= found.target <= HIGH
    assert feed.is_optimal(found)
    if feed.use(found.target) == 0 and found.target < HIGH:
        assert found.overfull == found.target + 1


@given(EVENT_TIMES, st.integers(1, 200), st.integers(-5, 10_000_005), st.integers(1, 6))
def test_search_cut_short_reads_less_but_something(times: list[int], budget: int, guess: int, most: int) -> None:
    feed = Feed(times, budget)
    found = greatest_within(feed.look, times[0] - 1, HIGH, guess, most)
    assert feed.looks <= most + 1
    assert feed.use(found.target) <= 1
    assert feed.use(found.target) > 0 or found.overfull == found.target + 1


@examples(50)
@given(st.integers(0, 10**9), st.integers(20, 2_000))
def test_bursts_and_gaps_seldom_take_more_look_ups_than_a_plan_may_use(seed: int, budget: int) -> None:
    feed, looks, found = Feed(bursts(random.Random(seed)), budget), [], []
    for _ in range(20):
        feed.looks = -1
        found.append(greatest_within(feed.look, feed.times[0] - 1, HIGH, feed.times[len(feed.times) // 3]))
        looks.append(feed.looks)
        feed.times = feed.times[max(1, bisect_right(feed.times, found[-1].target)) :] or [HIGH]
    assert max(looks) <= MOST_PROBES + 1


def bursts(random_: random.Random) -> list[int]:
    """Return some thousand event times over three hours: gaps of minutes, and records close
    together.
    """
    times, now = [], 0
    while now < HIGH:
        now += int(random_.expovariate(1 / 60_000))
        for _ in range(random_.randrange(200)):
            now += random_.randrange(50)
            times.append(now)
    return [time for time in times if time < HIGH]


def test_even_feed_of_known_density_takes_two_look_ups_in_the_median() -> None:
    random_ = random.Random(1)
    times = sorted(random_.randrange(HIGH) for _ in range(500_000))
    looks, curve, start = [], Curve(((0, 0.0), (HIGH, 50.0))), 0
    while start < 400_000:
        feed = Feed(times[start:], budget=10_000)
        seen: list[tuple[int, float]] = [(feed.times[0] - 1, 0.0)]

        def look(event_time: int, feed: Feed = feed, seen: list[tuple[int, float]] = seen) -> Cut:
            cut = feed.look(event_time)
            seen.append((event_time, cut.use))
            return cut

        low = feed.times[0] - 1
        found = greatest_within(look, low, HIGH, curve.reaches(low, 0.995))
        curve = Curve.through(set(seen), curve)
        looks.append(feed.looks)
        start += bisect_right(feed.times, found.target)
    assert median(looks) <= 2


def test_nothing_is_asked_when_the_interval_is_empty() -> None:
    def look(_: int) -> Cut:
        raise AssertionError("asked")

    assert greatest_within(look, 10, 10, 5).target == 10
    assert greatest_within(look, 11, 10, 5).target == 10


def test_one_timestamp_larger_than_the_budget_is_named_as_overfull() -> None:
    feed = Feed([777] * 50, budget=1)
    assert greatest_within(feed.look, 0, 1_000_000, 10) == Found(776, 777)


def test_a_gap_is_crossed_without_asking() -> None:
    feed = Feed([*range(100), *range(9_000_000, 9_000_100)], budget=100)
    assert greatest_within(feed.look, -1, HIGH, 98).target >= 98
    assert feed.looks == 1


def test_curve_extends_beyond_what_was_measured() -> None:
    curve = Curve(((0, 0.0), (100, 1.0), (200, 3.0)))
    assert curve.reaches(0, 1.0) == 100
    assert curve.reaches(50, 1.0) == 125
    assert curve.reaches(100, 4.0) == 300
    assert curve.reaches(400, 1.0) == 450


def test_a_curve_keeps_what_was_believed_beyond_what_was_measured_since() -> None:
    before = Curve(((0, 0.0), (100, 1.0), (200, 5.0)))
    assert Curve.through([(100, 0.0), (150, 1.0)], before).points == ((100, 0.0), (150, 1.0), (200, 3.0))


def test_search_skips_the_gaps_between_times_that_many_records_share() -> None:
    """As in a topic of thousands of partitions that all write by the same clock."""
    feed = Feed([second * 1_000_000 for second in range(1, 10) for _ in range(1_667)], budget=10_000)
    found = greatest_within(feed.look, 999_999, HIGH, 5_000_000)
    assert feed.is_optimal(found)
    assert feed.looks <= 6
