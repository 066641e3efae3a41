from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from lockgate.search import GOOD_ENOUGH, greatest_within

EVENT_TIMES = st.lists(st.integers(0, 10_000_000), min_size=1, max_size=300).map(sorted)


@given(EVENT_TIMES, st.integers(1, 200), st.integers(-5, 10_000_005))
def test_the_answer_is_the_greatest_time_within_the_budget_or_uses_nearly_all_of_it(times: list[int], budget: int, guess: int) -> None:
    def use(event_time: int) -> float:
        return bisect_right(times, event_time) / budget

    low, high = times[0] - 1, 10_000_000
    found = greatest_within(use, low, high, guess)
    assert low <= found.target <= high
    assert use(found.target) <= 1
    assert use(found.target) >= GOOD_ENOUGH or found.target == high or use(found.target + 1) > 1 or use(found.target) > 0
    if use(found.target) == 0 and found.target < high:
        assert found.overfull == found.target + 1
        assert use(found.target + 1) > 1


@given(st.integers(1, 1_000_000))
def test_an_even_feed_takes_at_most_four_probes_once_a_plan_has_taught_the_density(step: int) -> None:
    probes = []

    def use(event_time: int) -> float:
        probes.append(event_time)
        return event_time / step / 1000

    greatest_within(use, 0, step * 1_000_000, step * 900)
    assert len(probes) - 1 <= 4  # the first is `low` itself


def test_nothing_is_asked_when_the_interval_is_empty() -> None:
    def use(_: int) -> float:
        raise AssertionError("asked")

    assert greatest_within(use, 10, 10, 5).target == 10
    assert greatest_within(use, 11, 10, 5).target == 10


def test_one_timestamp_larger_than_the_budget_is_named_as_overfull() -> None:
    found = greatest_within(lambda t: 50.0 if t >= 777 else 0.0, 0, 1_000_000, 10)
    assert (found.target, found.overfull) == (776, 777)
