"""What one split's producer has shown, and what follows from it: to the ms, with the clock as an
argument.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidValue
from lockgate.plan.model import Head
from lockgate.plan.producer_lag import ACTIVE_MS, GRACE_MS, REMEMBERED_MS, ProducerLag, Shown
from lockgate.watermark import MAX

HOUR, MINUTE = 3_600_000, 60_000
DRIFT = 10_000
T = 1_000 * HOUR


def seen(*records: tuple[int, int], limit: int = HOUR, disorder: int = 0) -> ProducerLag:
    """Return a split that is looked at and read each second; of each record the second after which
    it came, and its event time before that.
    """
    lag = ProducerLag(limit)
    lag.look(T, 0, 0, None)
    for offset, (after, behind) in enumerate(records):
        lag.look(T + after, offset, offset, None)
        lag.look(T + after + 1_000, offset, offset + 1, Head(offset, T + after - behind), disorder)
    return lag


def test_split_without_records_is_unknown_and_bound_by_the_drift() -> None:
    lag = seen()
    assert not lag.known
    assert lag.bound(T, DRIFT) == DRIFT - GRACE_MS
    assert lag.silent_since is None


def test_the_shown_lag_is_the_clock_of_the_look_before_less_the_event_time() -> None:
    lag = seen((5_000, 20_000))
    assert lag.known
    assert (lag.state.shown, lag.state.shown_at) == (20_000, T + 6_000)
    assert lag.bound(T + 6_000, DRIFT) == 25_000


@pytest.mark.parametrize(("position", "end_before"), [(3, 4), (4, 3)])
def test_record_from_before_the_look_or_skipped_shows_no_lag(position: int, end_before: int) -> None:
    lag = ProducerLag(HOUR)
    lag.look(T, 3, end_before, None)
    assert lag.look(T + 1_000, position, 9, Head(position, T - HOUR)) is None
    assert not lag.known


def test_record_older_than_the_disorder_allows_shows_no_lag() -> None:
    assert seen((0, 0), (5_000, 40_000)).state.shown == 0
    assert seen((0, 0), (5_000, 40_000), disorder=35_000).state.shown == 40_000


def test_longest_lag_is_remembered_for_an_hour_then_halved_each_hour() -> None:
    lag = seen((0, 40 * MINUTE), (5_000, 1_000))
    last = T + 1_000
    assert [lag.remembered(last + REMEMBERED_MS * hours) for hours in (0, 1, 2, 3)] == [
        n * MINUTE for n in (40, 40, 20, 10)
    ]


def test_lag_of_a_silent_split_is_remembered_up_to_the_limit() -> None:
    lag = seen((0, 50 * MINUTE), limit=HOUR)
    at = T + 1_000
    assert lag.bound(at + ACTIVE_MS, DRIFT) == 62.5 * MINUTE
    assert lag.bound(at + ACTIVE_MS + 1, DRIFT) == HOUR


def test_lag_beyond_the_limit_is_remembered_once_it_was_shown_twice() -> None:
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


# -- over a restart --

VALUES = [False, True, None, 0, -1, 1, 5.0, "1", [], {}, 10**18, 2**63, -(2**63), T, T + MINUTE, T + 48 * HOUR]


@st.composite
def looks(draw: st.DrawFn) -> list[tuple[int, int, int | None, int | None]]:
    """How long after the one before, how many records came, how far behind the first one is, and
    since when records are hidden.
    """
    pause = st.one_of(st.integers(0, 30_000), st.integers(0, 3 * HOUR))
    behind = st.one_of(st.none(), st.integers(-1_000, 4 * HOUR))
    return draw(st.lists(st.tuples(pause, st.integers(0, 3), behind, st.sampled_from([None, T])), max_size=30))


def look(lag: ProducerLag, now: int, came: int, behind: int | None, hidden_since: int | None) -> int | None:
    """Return a look at a split that is read to its end each time."""
    position = max(0, lag.state.end)
    first = None if behind is None or not came else Head(position, now - behind)
    return lag.look(now, position, position + came, first, hidden_since=hidden_since)


@given(looks(), looks(), st.integers(0, 30))
def test_a_restart_at_any_moment_goes_on_as_the_run_would_have(
    before: list[tuple[int, int, int | None, int | None]],
    after: list[tuple[int, int, int | None, int | None]],
    silent_at: int,
) -> None:
    now, runs_on = T, ProducerLag(HOUR)
    for n, (pause, *seen) in enumerate(before):
        now += pause
        look(runs_on, now, *seen)
        if n == silent_at:
            runs_on.is_silent()
    kept = json.loads(json.dumps(list(runs_on.state)))
    starts_again = ProducerLag(HOUR, Shown.restored(kept, now))
    assert starts_again == runs_on
    for pause, *seen in after:
        now += pause
        assert look(starts_again, now, *seen) == look(runs_on, now, *seen)
        assert starts_again.bound(now, DRIFT) == runs_on.bound(now, DRIFT)
        assert starts_again == runs_on


@given(looks())
def test_a_memory_that_covers_a_later_one_waits_for_all_that_was_shown(
    seen: list[tuple[int, int, int | None, int | None]],
) -> None:
    """A run that is killed leaves the last memory that did not cover what came after it."""
    now, lag, kept, writes = T, ProducerLag(HOUR), Shown(), 0
    for pause, *look_at in seen:
        now += pause
        look(lag, now, *look_at)
        if not kept.covers(lag.state, DRIFT // 2):
            kept, writes = lag.state, writes + 1
        again = ProducerLag(HOUR, kept._replace(moved_at=lag.state.moved_at))
        needed = max(lag.remembered(now), lag.state.last if lag.is_active(now) else 0)
        limit = MAX if lag.is_active(now) else HOUR
        assert again.bound(now, DRIFT) >= min(needed, limit)
        assert again.known == lag.known or not lag.known
    assert lag.known <= kept.known


@pytest.mark.parametrize(("lag", "covered"), [(67_500, True), (67_501, False)])
def test_a_kept_lag_covers_one_that_is_longer_by_an_eighth(lag: int, covered: bool) -> None:
    kept, later = (Shown(known=True, shown=each, shown_at=T, last=each) for each in (60_000, lag))
    assert kept.covers(later, DRIFT) is covered


def test_a_lag_is_kept_now_and_then_while_it_grows_and_each_half_hour() -> None:
    writes, kept, lag = 0, Shown(), ProducerLag(HOUR)
    for second in range(2 * 3_600):
        look(lag, T + second * 1_000, 1, min(60_000, 10 * second), None)
        if not kept.covers(lag.state, DRIFT // 2):
            kept, writes = lag.state, writes + 1
    assert writes <= 30


def test_a_split_unseen_for_an_hour_is_unknown_and_its_lag_remembered() -> None:
    lag = seen((0, 20_000))
    at = T + 1_000 + REMEMBERED_MS
    again = ProducerLag(HOUR, lag.state)
    assert again.look(at, 1, 2, Head(1, at - 30_000)) == 0, "what came within the hour shows its lag"
    assert again.known
    again = ProducerLag(HOUR, lag.state)
    assert again.look(at + 1, 1, 2, Head(1, at - 30_000)) is None
    assert not again.known
    assert again.bound(at + 1, DRIFT) == 25_000, "the log has grown, so that the last lag counts"


@given(st.lists(st.sampled_from(VALUES), max_size=13))
def test_values_that_cannot_have_been_kept_are_refused(values: list[object]) -> None:
    try:
        lag = ProducerLag(HOUR, Shown.restored(values, T))
    except InvalidValue:
        return
    assert max(lag.state.looked_at, lag.state.moved_at, lag.state.shown_at) <= T
    lag.look(T, 0, 1, Head(0, T - MINUTE))
    assert lag.bound(T + 2 * MINUTE, DRIFT) <= HOUR + DRIFT


def test_a_clock_that_was_set_back_costs_no_memory() -> None:
    lag = seen((5_000, 20_000))
    again = ProducerLag(HOUR, Shown.restored(list(lag.state), T - HOUR))
    assert again.bound(T - HOUR, DRIFT) == 25_000
