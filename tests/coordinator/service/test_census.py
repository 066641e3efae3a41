"""A group's health in one word, and in sentences who holds it, why, and who is lost."""

from typing import Any

import pytest

from lockgate.watermark import MAX, MIN
from lockgate_coordinator.service.sentences import waits_for, why_blocked
from support.in_process import T0, Service

MINUTE = 60_000
COMMON = ("health", "states", "waiting", "overdue", "sentence")
CONFIG = {"max_drift_ms": MINUTE, "lease_ms": 10_000, "catch_up": "strict"}


async def group_of(service: Service) -> dict[str, Any]:
    """Return its inspection; the list says the same of its health."""
    found = await service.shows()
    (listed,) = (await service.http.get("/v1/groups")).json()["items"]
    assert {key: listed[key] for key in COMMON} == {key: found[key] for key in COMMON}
    return found


async def test_group_whose_readers_all_read_is_healthy() -> None:
    service = Service(config=CONFIG)
    await service.reports("orders", T0)
    group = await group_of(service)
    assert (group["health"], group["states"], group["waiting"]) == ("healthy", {"active": 1}, 0)
    assert group["reason"] == "Reader orders/0 reads."


async def test_reader_at_ceiling_makes_group_waiting_then_overdue() -> None:
    service = Service(config={**CONFIG, "max_wait_ms": 5_000})
    await service.reports("orders", T0)
    await service.reports("payments", T0 + 2 * MINUTE)
    group = await group_of(service)
    assert (group["health"], group["waiting"]) == ("waiting", 1)
    for _ in range(3):  # a silence of all for a third of a lease would be an outage
        service.now_ms += 2_000
        await service.reports("orders", T0)
    group = await group_of(service)
    assert (group["health"], group["overdue"]) == ("overdue", 1)


async def test_a_lost_reader_is_worse_than_all_else_and_is_named() -> None:
    service = Service(config=CONFIG)
    await service.reports("orders", T0)
    await service.reports("payments", T0 + 2 * MINUTE)
    for _ in range(6):
        service.now_ms += 2_000
        await service.reports("payments", T0 + 2 * MINUTE)
    group = await group_of(service)
    assert (group["health"], group["states"]) == ("lost", {"active": 1, "lost": 1})
    assert group["reason"].endswith("Lost, and no longer counted: orders/0.")


async def test_an_expected_source_that_has_not_reported_makes_it_starting() -> None:
    service = Service(config={**CONFIG, "expected_sources": ["orders", "payments"]})
    await service.reports("orders", T0)
    group = await group_of(service)
    assert (group["health"], group["reason"]) == ("starting", None)
    assert group["sentence"].startswith("All readers wait for the first report of payments")


async def test_a_paused_source_is_named_with_who_paused_it_and_why() -> None:
    service = Service(config=CONFIG)
    await service.reports("orders", T0)
    (await service.http.put("/v1/groups/g/sources/orders/pause", json={"reason": "a bad deploy."})).raise_for_status()
    group = await group_of(service)
    assert (group["health"], group["reason"]) == (
        "paused",
        "An operator has paused orders: a bad deploy.",
    )


async def test_group_of_idle_readers_is_idle() -> None:
    service = Service(config=CONFIG)
    await service.reports("orders", T0, idle=True)
    group = await group_of(service)
    assert (group["health"], group["states"], group["reason"]) == ("idle", {"idle": 1}, None)


@pytest.mark.parametrize(
    ("reader", "sentence"),
    [
        ({"state": "lost"}, "Reader orders/0 is lost, and still counts"),
        ({"state": "parked"}, "Reader orders/0 is parked: its next run should report by 2026-01-01T00:00:00.000Z."),
        ({"state": "registered"}, "Reader orders/0 has registered, but has not reported yet."),
        ({"progress_age_ms": 30_001}, "Reader orders/0 keeps its lease, but has made no progress for 30 s."),
        ({"progress_age_ms": 12_000}, "Reader orders/0 reads: its last progress was 12 s ago."),
        ({"progress_age_ms": 900, "facts": None}, "Reader orders/0 reads."),
        ({"facts": {"event_time_rate": None}}, "Reader orders/0 reads."),
        ({"behind_ms": 59_999}, "Reader orders/0 reads, and has caught up."),
        (
            {},
            "Reader orders/0 reads 14 s of event time per second: it is 4 h 20 min behind the clock, and will catch up "
            "in about 20 min at this rate.",
        ),
        ({"facts": {"event_time_rate": 1_863_400}}, "Reader orders/0 reads 1,863 s of event time per second: it is"),
        ({"facts": {"event_time_rate": 0}}, "Reader orders/0 reads, but its watermark does not rise"),
        (
            {"facts": {"event_time_rate": 1000}},
            "Reader orders/0 reads 1 s of event time per second: it is 4 h 20 min behind the clock, and does not "
            "catch up at this rate.",
        ),
    ],
)
def test_reason_names_why_the_blocker_is_behind(reader: dict[str, Any], sentence: str) -> None:
    usual = {"state": "active", "progress_age_ms": 0, "facts": {"event_time_rate": 14_000}, "behind_ms": 15_600_000}
    whole = {**usual, "parked_until_iso": "2026-01-01T00:00:00.000Z", **reader}
    assert why_blocked(whole, "orders/0", 30_000).startswith(sentence)


def test_first_of_many_blockers_are_named() -> None:
    held = [{"source": "s", "subtask": subtask, "split": None, "watermark": 0} for subtask in range(8)]
    event = {"blocked_by": held, "group_watermark": 0, "max_desired_watermark": MAX, "would_be": 1_000}
    text = waits_for(event, [], observes=True)
    assert text == ("Would wait for s/0, s/1, s/2 and 5 more at 1970-01-01T00:00:00Z; read limit 1970-01-01T00:00:01Z.")


def test_group_without_a_blocker_says_why() -> None:
    for watermark, reason in (
        (MIN, "none has reported yet"),
        (MAX, "all readers are idle, finished, lost or gone"),
    ):
        event = {"blocked_by": [], "group_watermark": watermark, "max_desired_watermark": MAX}
        assert reason in waits_for(event, [], observes=False)
