"""The lease of a reader's splits: it is over before another reader may begin, however far the two
clocks are apart, as long as they run alike.
"""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_reader.group.holdings import RATE_ERROR, SplitLease

SETTLED = {"settled": True}
rates = st.floats(1 - RATE_ERROR / 2, 1 + RATE_ERROR / 2)
offsets = st.floats(-1e6, 1e6)


@given(
    sent=st.floats(0, 1e5),
    way=st.floats(0, 100),
    lease_ms=st.integers(100, 10_000_000),
    reader=st.tuples(offsets, rates),
    store=st.tuples(offsets, rates),
)
def test_the_reader_has_stopped_before_the_coordinator_gives_its_splits_on(
    sent: float, way: float, lease_ms: int, reader: tuple[float, float], store: tuple[float, float]
) -> None:
    """`sent`, `way` and what is compared are true time; either clock has an offset and a rate."""
    offset, rate = reader
    lease = SplitLease().renewed(offset + rate * sent, lease_ms, offset + rate * sent, **SETTLED)
    stopped = (lease.until - offset) / rate
    received = store[0] + store[1] * (sent + way)
    freed = (received + lease_ms / 1000 - store[0]) / store[1]
    assert stopped <= freed + 1e-6  # what doubles can tell


def test_clocks_whose_rates_differ_by_more_than_is_assumed_could_both_read() -> None:
    slow = 1 - 2 * RATE_ERROR
    stopped = SplitLease().renewed(0, 30_000, 0, **SETTLED).until / slow
    assert stopped > 30.0


def test_lease_is_over_before_the_first_answer_and_at_its_end() -> None:
    assert SplitLease().is_over(-inf)
    lease = SplitLease().renewed(100, 10_000, 100.2, **SETTLED)
    assert not lease.is_over(109.89)
    assert lease.is_over(109.9)


def test_the_exchange_that_was_sent_last_rules_whichever_answer_comes_last() -> None:
    lease = SplitLease().renewed(100, 10_000, 100.1, **SETTLED)
    assert lease.renewed(99, 60_000, 100.2, **SETTLED) == lease, "an older answer"
    shorter = lease.renewed(101, 1_000, 101.1, **SETTLED)
    assert shorter.until == pytest.approx(101.99), "the group's lease was made shorter"


@pytest.mark.parametrize(
    ("sent_at", "settled", "begins"), [(109.0, True, False), (110.0, False, False), (110.0, True, True)]
)
def test_lease_that_is_over_begins_again_by_a_later_settled_exchange(
    sent_at: float, settled: bool, begins: bool
) -> None:
    lease = SplitLease().renewed(100, 10_000, 100, **SETTLED)
    assert lease.renewed(sent_at, 10_000, 111.0, settled=settled).is_over(111.0) is not begins


def test_running_lease_goes_on_while_survivors_are_awaited() -> None:
    lease = SplitLease().renewed(100, 10_000, 100, **SETTLED)
    assert lease.renewed(105, 10_000, 105.1, settled=False).until == pytest.approx(114.9)
