"""How many splits each reader gets, and how few of them move."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from lockgate.enumerator.shares import shares
from support.examples import examples

CAPACITIES = st.dictionaries(st.integers(0, 9), st.integers(0, 5), min_size=1, max_size=6)


@given(st.integers(0, 500), CAPACITIES, st.data())
def test_shares_add_up_and_none_is_a_whole_split_away_from_its_exact_share(
    total: int, capacities: dict[int, int], data: st.DataObject
) -> None:
    has = {reader: data.draw(st.integers(0, 100)) for reader in capacities}
    found, whole = shares(total, capacities, has), sum(capacities.values())

    assert sum(found.values()) == (total if whole else 0)
    assert all(abs(found[each] * whole - total * capacities[each]) < max(1, whole) for each in capacities)


@examples(60)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 6)), min_size=1, max_size=4))
def test_no_even_assignment_moves_fewer_splits(readers: list[tuple[int, int]]) -> None:
    capacities = {number: capacity for number, (capacity, _) in enumerate(readers)}
    has = {number: held for number, (_, held) in enumerate(readers)}
    total, whole = sum(has.values()), sum(capacities.values())
    found = shares(total, capacities, has)

    def moves(share: dict[int, int]) -> int:
        return sum(max(0, has[each] - share[each]) for each in share)

    exact = [total * capacity / whole for capacity in capacities.values()]
    for choice in product(*({int(share), -int(-share // 1)} for share in exact)):
        if sum(choice) == total:
            assert moves(found) <= moves(dict(enumerate(choice)))


def test_a_new_reader_takes_from_those_with_more_than_their_new_share() -> None:
    assert shares(12, {0: 1, 1: 1, 2: 1}, {0: 6, 1: 6, 2: 0}) == {0: 4, 1: 4, 2: 4}
    assert shares(7, {0: 1, 1: 1, 2: 1}, {0: 2, 1: 3, 2: 2}) == {0: 2, 1: 3, 2: 2}


def test_capacity_is_a_share_and_0_is_none() -> None:
    assert shares(12, {0: 3, 1: 1, 2: 0}, {}) == {0: 9, 1: 3, 2: 0}
    assert shares(5, {0: 0}, {0: 5}) == {0: 0}
