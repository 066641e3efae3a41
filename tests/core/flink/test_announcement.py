"""How far a source may read, as Flink's coordinators announce it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import UnknownName, WrongState
from lockgate.flink.announcement import CoordinatorStore, SourceAlignment, max_desired_watermark
from lockgate.watermark import MAX, MIN

WATERMARKS = st.integers(MIN, MAX)


@given(WATERMARKS, WATERMARKS)
def test_a_sum_beyond_64_bits_is_announced_as_max(minimum: int, drift: int) -> None:
    announced = max_desired_watermark(minimum, drift)
    assert announced == (minimum + drift if MIN <= minimum + drift <= MAX else MAX)
    assert MIN <= announced <= MAX


def source(store: CoordinatorStore, name: str, *, drift: int = 1_000, subtasks: int = 2) -> SourceAlignment:
    made = SourceAlignment(store, name, "group", drift, subtasks)
    made.start()
    for subtask in range(subtasks):
        made.attempt_ready(subtask, 0)
    return made


def test_every_subtask_that_has_reported_hears_the_group_minimum_plus_drift() -> None:
    orders = source(CoordinatorStore(), "orders")
    orders.report(0, 42)
    assert orders.announce() == [(0, 1_042)]
    orders.report(1, 44)
    assert orders.announce() == [(0, 1_042), (1, 1_042)]
    orders.report(0, 5_000)
    assert orders.announce() == [(0, 1_044), (1, 1_044)]


def test_sources_of_one_group_wait_for_each_other_each_with_its_own_drift() -> None:
    store = CoordinatorStore()
    orders, payments = source(store, "orders", drift=10), source(store, "payments", drift=500)
    orders.report(0, 5)
    payments.report(0, 100)
    assert (orders.announce(), payments.announce()) == ([(0, 15)], [(0, 505)])


def test_idle_subtasks_report_max_and_hold_nobody() -> None:
    orders = source(CoordinatorStore(), "orders")
    orders.report(0, 42)
    orders.report(1, MAX)
    assert orders.announce() == [(0, 1_042), (1, 1_042)]
    orders.report(0, MAX)
    assert orders.announce() == [(0, MAX), (1, MAX)]


def test_a_subtask_whose_attempt_failed_hears_nothing_and_holds_the_others() -> None:
    orders = source(CoordinatorStore(), "orders")
    orders.report(0, 5)
    orders.report(1, 100)
    orders.attempt_failed(0, 0)
    assert orders.announce() == [(1, 1_005)]
    orders.subtask_reset(1)
    assert orders.announce() == []


def test_reporting_before_the_start_or_without_alignment_is_refused() -> None:
    early = SourceAlignment(CoordinatorStore(), "orders", "group", 10, 1)
    with pytest.raises(WrongState, match="call start"):
        early.report(0, 5)
    for drift, group in ((MAX, "group"), (10, None)):
        alone = SourceAlignment(CoordinatorStore(), "orders", group, drift, 1)
        alone.start()
        with pytest.raises(WrongState, match="'orders' is not aligned"):
            alone.report(0, 5)
        assert alone.announce() == []
        assert alone.combined.keys() == []


def test_a_report_out_of_range_is_found_out_by_the_announcement() -> None:
    orders = source(CoordinatorStore(), "orders")
    orders.report(2, 5)
    with pytest.raises(UnknownName, match="subtasks 0 to 1"):
        orders.announce()
    with pytest.raises(UnknownName, match="subtask -1 is unknown"):
        orders.attempt_ready(-1, 0)
