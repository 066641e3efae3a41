"""What it means that a group has passed an event time, reader by reader. Pure."""

from typing import Any

import pytest

from lockgate.watermark import MAX, MIN
from lockgate_http.completeness import Standing, read_up_to, standing, standing_of_event

MINUTE = 60_000
UNTIL = 1_764_064_800_000  # 2025-11-25T10:00:00Z
PASSED, BEHIND = UNTIL - 1, UNTIL - 2
DRIFT = 5 * MINUTE


def split(watermark: int, state: str = "active") -> dict[str, Any]:
    return {"watermark": watermark, "state": state}


def reader(watermark: int, state: str = "active", **splits: dict[str, Any]) -> dict[str, Any]:
    return {"subtask": 0, "state": state, "watermark": watermark, "splits": splits}


def judged(*readers: dict[str, Any], now: int = UNTIL + 2 * DRIFT, **group: Any) -> Standing:
    """The standing of a group with these readers of `orders`, of which there may be none."""
    config = {"lease_ms": 30_000, "max_drift_ms": DRIFT, "expected_sources": [], **group.pop("config", {})}
    alignment = {"revision": 7, "group_watermark": MAX, "blocked_by": []}
    found = {"group": "g", "created_at": 0, "now": now, "config": config, "alignment": alignment, **group}
    return standing(found, {"orders": list(readers)} if readers else {}, UNTIL)


def test_everything_before_the_time_is_read_at_a_watermark_of_one_ms_less() -> None:
    assert judged(reader(PASSED)) == Standing(passed=True, revision=7)
    assert judged(reader(BEHIND)).passed is False


@pytest.mark.parametrize("state", ["active", "lost", "passed_over", "parked"])
def test_a_reader_counts_by_its_own_watermark_in_each_state(state: str) -> None:
    assert judged(reader(PASSED, state)).passed
    assert not judged(reader(PASSED), reader(BEHIND, state)).passed


def test_a_reader_that_has_not_reported_has_not_passed() -> None:
    assert str(judged(reader(MIN, "registered"))) == "orders/0 has not reported yet"


def test_a_finished_reader_counts_by_the_last_watermarks_of_its_partitions() -> None:
    assert judged(reader(MAX, "finished", a=split(PASSED), b=split(PASSED))).passed
    stopped = judged(reader(MAX, "finished", a=split(PASSED), b=split(BEHIND)))
    assert str(stopped) == (
        "orders/0 has ended and has read up to 2025-11-25T09:59:59Z (if it does not come back, "
        "lockgate evict g orders 0)"
    )


def test_a_finished_reader_without_partitions_has_not_passed() -> None:
    assert "does not show how far it has read" in str(judged(reader(MAX, "finished")))


def test_partitions_that_were_read_to_their_end_hold_nothing_back() -> None:
    assert judged(reader(MAX, "finished", a=split(0, "finished"))).passed


@pytest.mark.parametrize("idle", [reader(MAX, "idle"), reader(MAX, "idle", a=split(MIN, "idle"))])
def test_what_is_idle_has_passed_once_the_clock_is_one_drift_above(idle: dict[str, Any]) -> None:
    assert judged(idle, now=UNTIL - 1 + DRIFT).passed
    early = judged(idle, now=UNTIL - 1 + DRIFT - MINUTE)
    assert early.reasons == ("orders/0 is idle, and may bring older records for 1 min",)
    assert early.due_ms == MINUTE


def test_an_idle_partition_of_an_active_reader_is_judged_by_the_clock() -> None:
    mixed = reader(PASSED, a=split(PASSED), b=split(BEHIND - DRIFT, "idle"))

    assert judged(mixed, now=UNTIL + DRIFT).passed
    assert not judged(mixed, now=UNTIL).passed


@pytest.mark.parametrize("state", ["lost", "finished", "parked"])
def test_the_clock_says_nothing_of_a_reader_that_does_not_look(state: str) -> None:
    assert not judged(reader(MAX, state, a=split(BEHIND, "idle"))).passed


def test_a_partition_that_has_shown_nothing_yet_has_not_passed() -> None:
    assert "which has read nothing yet" in str(judged(reader(PASSED, a=split(PASSED), b=split(MIN))))


def test_a_lag_that_spark_has_learned_is_not_cut_to_the_drift() -> None:
    late = reader(BEHIND, a=split(BEHIND, "idle"))

    assert read_up_to(late, UNTIL + DRIFT) == (BEHIND, False)


def test_a_group_without_readers_has_not_passed() -> None:
    assert str(judged()) == "it has no reader"


def test_an_expected_source_that_has_left_is_missed() -> None:
    one = judged(reader(PASSED), config={"expected_sources": ["orders", "payments"]})

    assert one.reasons == ("the expected source payments has no reader",)


def test_partitions_that_are_assigned_to_no_reader_are_missed() -> None:
    counts = {"orders": {"assigned": 2, "unassigned": 1}}

    assert str(judged(reader(PASSED), enumerators=counts)) == "partitions of orders without a reader: 1"


def test_the_first_reasons_are_named_and_the_others_counted() -> None:
    many = judged(*(reader(MIN, "registered") for _ in range(1_005)))

    assert str(many).count("orders/0 has not reported yet") == 3
    assert str(many).endswith("; and 1,002 more")


def test_a_new_group_waits_for_its_readers_to_come_back() -> None:
    new = judged(reader(PASSED), created_at=UNTIL, now=UNTIL + 10_000)

    assert (new.passed, new.due_ms) == (False, 20_000)
    assert judged(reader(PASSED), created_at=UNTIL, now=UNTIL + 30_000).passed


def test_the_clock_is_not_waited_for_while_a_reader_is_behind() -> None:
    assert judged(reader(BEHIND), reader(MAX, "idle"), now=UNTIL).due_ms is None


def test_an_event_names_the_blockers_and_how_far_they_have_to_go() -> None:
    blockers = [{"source": "orders", "subtask": 0, "watermark": UNTIL - 9 * MINUTE}]
    event = {"group_watermark": UNTIL - 9 * MINUTE, "revision": 3, "blocked_by": blockers}

    assert str(standing_of_event(event, UNTIL)) == "it waits for orders/0 at 2025-11-25T09:51:00Z, 9 min to go"
    assert str(standing_of_event({**event, "blocked_by": []}, UNTIL)) == "no reader has reported yet"
