"""The token bucket, by a clock that is told the time."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_coordinator.access import rate
from lockgate_coordinator.access.rate import RateLimit
from support.tokens import Clock


def test_twice_the_rate_may_come_at_once_and_then_the_rate(clock: Clock) -> None:
    limit = RateLimit(5, clock)
    assert [limit.take(b"a") for _ in range(11)] == [0] * 10 + [1]
    clock.now += 1
    assert [bool(limit.take(b"a")) for _ in range(6)] == [False] * 5 + [True]


def test_each_key_has_a_bucket_of_its_own(clock: Clock) -> None:
    limit = RateLimit(1, clock)
    assert [limit.take(b"a") for _ in range(3)] == [0, 0, 1]
    assert limit.take(b"b") == 0


@given(rate=st.integers(1, 1_000), pauses=st.lists(st.floats(0, 3), max_size=50))
def test_key_goes_on_after_its_wait_and_never_exceeds_its_rate(rate: int, pauses: list[float]) -> None:
    clock = Clock()
    limit, begin = RateLimit(rate, clock), clock.now
    for taken, pause in enumerate(pauses, 1):
        clock.now += pause
        wait_s = limit.take(b"a")
        if wait_s:
            assert wait_s >= 1
            clock.now += wait_s
            assert limit.take(b"a") == 0
        assert taken <= math.ceil(2 * rate + rate * (clock.now - begin) + 1e-6)


def test_full_buckets_are_dropped(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "MOST_BUCKETS", 10)
    limit = RateLimit(5, clock)
    for number in range(100):
        limit.take(b"%d" % number)
        clock.now += 1
    assert len(limit._buckets) <= 11
