"""`Lowest` against looking at all numbers."""

from math import log2
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from lockgate.lowest import Lowest

KEYS = st.integers(0, 5)
CHANGES = st.lists(st.tuples(KEYS, st.none() | st.integers(-20, 20)), max_size=80)


@given(CHANGES, st.booleans())
def test_the_lowest_is_the_minimum_of_what_was_last_put_under_each_key(
    changes: list[tuple[int, int | None]], ask_always: bool
) -> None:
    lowest, numbers = Lowest[int](), dict[int, int]()
    for key, value in changes:
        if value is None:
            lowest.discard(key)
            numbers.pop(key, None)
        else:
            lowest.set(key, value)
            numbers[key] = value
        if ask_always:
            assert lowest.lowest() == min(numbers.values(), default=None)
    assert lowest.lowest() == min(numbers.values(), default=None)
    assert all((key in lowest) == (key in numbers) for key in range(6))


class Compared(int):
    """Counts how often numbers are compared."""

    times = 0

    def __lt__(self, other: int) -> bool:
        Compared.times += 1
        return int(self) < int(other)


def test_rising_numbers_are_compared_no_more_often_than_log_n() -> None:
    keys, updates = 4_096, 20_000
    lowest, random = Lowest[int](), Random(7)
    for key in range(keys):
        lowest.set(key, Compared(key))
    Compared.times = 0
    for step in range(updates):
        lowest.set(random.randrange(keys), Compared(keys + step))
        lowest.lowest()
    assert Compared.times / updates < 4 * log2(keys)


def test_numbers_that_fall_again_and_again_do_not_pile_up() -> None:
    lowest = Lowest[int]()
    for value in range(10_000, 0, -1):
        lowest.set(7, value)
        lowest.set(8, -value)
    assert lowest.lowest() == -10_000 + 9_999
    assert len(lowest._heap) < 200
