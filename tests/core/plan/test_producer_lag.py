"""What one split's producer has shown, and what follows from it: to the ms, with the clock as an
argument.
"""

import pytest

from lockgate.plan.model import Head
from lockgate.plan.producer_lag import ACTIVE_MS, GRACE_MS, REMEMBERED_MS, ProducerLag

HOUR, MINUTE = 3_600_000, 60_000
DRIFT = 10_000
T = 1_000 * HOUR


def seen(*records: tuple[int, int], limit: int = HOUR, disorder: int = 0) -> ProducerLag:
    """A split that is looked at and read each second; of each record the second after which it
    came, and its event time before that.
    """
    lag = ProducerLag(limit)
    lag.look(T, 0, 0, None)
    for offset, (after, behind) in enumerate(records):
        lag.look(T + after, offset, offset, None)
        lag.look(T + after + 1_000, offset, offset + 1, Head(offset, T + after - behind), disorder)
    return lag


def test_nothing_is_known_of_a_split_that_has_brought_nothing_and_its_bound_is_the_drift_less_a_moment() -> None:
    lag = seen()
    assert not lag.known
    assert lag.bound(T, DRIFT) == DRIFT - GRACE_MS
    assert lag.silent_since is None


def test_the_shown_lag_is_the_clock_of_the_look_before_less_the_event_time() -> None:
    lag = seen((5_000, 20_000))
    assert lag.known
    assert (lag.shown, lag.shown_at) == (20_000, T + 6_000)
    assert lag.bound(T + 6_000, DRIFT) == 25_000


@pytest.mark.parametrize(("position", "end_before"), [(3, 4), (4, 3)])
def test_a_record_from_before_the_look_or_one_that_was_jumped_over_shows_no_lag(position: int, end_before: int) -> None:
    lag = ProducerLag(HOUR)
    lag.look(T, 3, end_before, None)
    assert lag.look(T + 1_000, position, 9, Head(position, T - HOUR)) is None
    assert not lag.known


def test_a_record_that_is_older_than_one_before_it_by_more_than_the_disorder_shows_nothing() -> None:
    assert seen((0, 0), (5_000, 40_000)).shown == 0
    assert seen((0, 0), (5_000, 40_000), disorder=35_000).shown == 40_000


def test_the_most_is_remembered_for_an_hour_and_then_by_half_with_each_hour() -> None:
    lag = seen((0, 40 * MINUTE), (5_000, 1_000))
    last = T + 1_000
    assert [lag.remembered(last + REMEMBERED_MS * hours) for hours in (0, 1, 2, 3)] == [
        n * MINUTE for n in (40, 40, 20, 10)
    ]


def test_a_silent_split_s_lag_is_remembered_up_to_the_limit_and_an_active_one_s_wholly() -> None:
    lag = seen((0, 50 * MINUTE), limit=HOUR)
    at = T + 1_000
    assert lag.bound(at + ACTIVE_MS, DRIFT) == 62.5 * MINUTE
    assert lag.bound(at + ACTIVE_MS + 1, DRIFT) == HOUR


def test_a_lag_beyond_the_limit_holds_while_the_split_is_active_and_is_remembered_once_it_was_shown_twice() -> None:
    once, twice = seen((0, 3 * HOUR)), seen((0, 3 * HOUR), (5_000, 3 * HOUR))
    for lag in (once, twice):
        assert lag.bound(T + 6_000, DRIFT) == 3.75 * HOUR
    later = T + 2 * MINUTE
    assert (once.bound(later, DRIFT), twice.bound(later, DRIFT)) == (DRIFT - GRACE_MS, HOUR)


def test_records_hidden_by_an_open_transaction_are_as_late_as_it_is_open() -> None:
    lag = seen()
    lag.look(T + MINUTE, 0, 0, None, hidden_since=T)
    assert lag.bound(T + MINUTE, DRIFT) == 75_000
    lag.look(T + MINUTE, 0, 0, None)
    assert lag.bound(T + MINUTE, DRIFT) == DRIFT - GRACE_MS


def test_another_run_goes_on_with_what_was_kept() -> None:
    lag = seen((5_000, 20_000))
    again = ProducerLag.restored(HOUR, *lag.kept())
    assert again.known
    assert again.bound(T + 6_000, DRIFT) == lag.bound(T + 6_000, DRIFT)
    assert again.look(T + MINUTE, 1, 2, Head(1, T - 30_000)) is None, "older than what was read before"
    again = ProducerLag.restored(HOUR, *lag.kept())
    assert again.look(T + MINUTE, 1, 2, Head(1, T)) == 6_000, "by the last look of the run before"
