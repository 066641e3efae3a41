"""A group's health in one word, and in sentences who holds it, why, and who is lost."""

from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX, MIN
from lockgate_coordinator.app import create_app
from lockgate_coordinator.service.sentences import waits_for, why_blocked
from lockgate_coordinator.store import MemoryStore

T = 1_767_225_600_000
MINUTE = 60_000
GROUP = "/v1/groups/g"
CONFIG = {"max_drift_ms": MINUTE, "lease_ms": 10_000, "catch_up": "strict"}


class Told:
    """A service over memory at a time that the test sets, and what it says of a group."""

    def __init__(self, **config: Any) -> None:
        self.now = T
        transport = httpx.ASGITransport(create_app(MemoryStore(lambda: self.now)))
        self.http = httpx.AsyncClient(transport=transport, base_url="http://coordinator")
        self._config = {**CONFIG, **config}
        self._epochs: dict[str, int] = {}

    async def report(self, source: str, watermark: int, **more: Any) -> None:
        if not self._epochs:
            await self.http.put(GROUP, json=self._config)
        if source not in self._epochs:
            answer = await self.http.post(f"{GROUP}/sources/{source}/readers", json={"subtask": 0})
            self._epochs[source] = answer.json()["epoch"]
        body = {"subtask": 0, "epoch": self._epochs[source], "watermark": watermark, **more}
        (await self.http.post(f"{GROUP}/sources/{source}/watermarks", json=body)).raise_for_status()

    async def group(self) -> dict[str, Any]:
        """Its inspection; the list says the same of its health."""
        found: dict[str, Any] = (await self.http.get(GROUP)).json()
        (listed,) = (await self.http.get("/v1/groups")).json()["items"]
        assert (
            listed.items()
            >= {key: found[key] for key in ("health", "states", "waiting", "overdue", "sentence")}.items()
        )
        return found


async def test_group_whose_readers_all_read_is_healthy() -> None:
    told = Told()
    await told.report("orders", T)
    group = await told.group()
    assert (group["health"], group["states"], group["waiting"]) == ("healthy", {"active": 1}, 0)
    assert group["reason"] == "Reader orders/0 reads."


async def test_reader_at_ceiling_makes_group_waiting_then_overdue() -> None:
    told = Told(max_wait_ms=5_000)
    await told.report("orders", T)
    await told.report("payments", T + 2 * MINUTE)
    assert ((await told.group())["health"], (await told.group())["waiting"]) == ("waiting", 1)
    for _ in range(3):  # a silence of all for a third of a lease would be an outage
        told.now += 2_000
        await told.report("orders", T)
    assert ((await told.group())["health"], (await told.group())["overdue"]) == ("overdue", 1)


async def test_a_lost_reader_is_worse_than_all_else_and_is_named() -> None:
    told = Told()
    await told.report("orders", T)
    await told.report("payments", T + 2 * MINUTE)
    for _ in range(6):
        told.now += 2_000
        await told.report("payments", T + 2 * MINUTE)
    group = await told.group()
    assert (group["health"], group["states"]) == ("lost", {"active": 1, "lost": 1})
    assert group["reason"].endswith("Lost, and no longer counted: orders/0.")


async def test_an_expected_source_that_has_not_reported_makes_it_starting() -> None:
    told = Told(expected_sources=["orders", "payments"])
    await told.report("orders", T)
    group = await told.group()
    assert (group["health"], group["reason"]) == ("starting", None)
    assert group["sentence"].startswith("All readers wait for the first report of payments")


async def test_a_paused_source_is_named_with_who_paused_it_and_why() -> None:
    told = Told()
    await told.report("orders", T)
    (await told.http.put(f"{GROUP}/sources/orders/pause", json={"reason": "a bad deploy."})).raise_for_status()
    group = await told.group()
    assert (group["health"], group["reason"]) == (
        "paused",
        "An operator has paused orders: a bad deploy.",
    )


async def test_group_of_idle_readers_is_idle() -> None:
    told = Told()
    await told.report("orders", T, idle=True)
    group = await told.group()
    assert (group["health"], group["states"], group["reason"]) == ("idle", {"idle": 1}, None)


BLOCKER = {"source": "orders", "subtask": 0}


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
    assert why_blocked(BLOCKER, whole, {"lease_ms": 30_000}).startswith(sentence)


def test_first_of_many_blockers_are_named() -> None:
    held = [{"source": "s", "subtask": subtask, "split": None, "watermark": 0} for subtask in range(8)]
    event = {"blocked_by": held, "group_watermark": 0, "max_desired_watermark": MAX, "would_be": 1_000}
    text = waits_for({"waiting_for": [], "config": {"mode": "observe"}, "alignment": event})
    assert text == ("Would wait for s/0, s/1, s/2 and 5 more at 1970-01-01T00:00:00Z; read limit 1970-01-01T00:00:01Z.")


def test_group_without_a_blocker_says_why() -> None:
    for watermark, reason in (
        (MIN, "none has reported yet"),
        (MAX, "all readers are idle, finished, lost or gone"),
    ):
        event = {"blocked_by": [], "group_watermark": watermark, "max_desired_watermark": MAX}
        assert reason in waits_for({"waiting_for": [], "config": {"mode": "enforce"}, "alignment": event})
