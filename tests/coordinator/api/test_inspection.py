"""What an operator can see of a group, at a time that the test sets."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import httpx
import pytest

from lockgate.group.group import Group, create
from lockgate.group.reader import Reader
from lockgate.group.readers import Readers
from lockgate.steps import at_once
from lockgate.wire.events import GroupConfig, ReportedWatermarkEvent
from lockgate_coordinator.app import create_app
from lockgate_coordinator.service.inspection import inspected, summary
from lockgate_coordinator.store import MemoryStore
from support.turns import evaluate

GROUP = "/v1/groups/g"
T = 1_767_225_600_000


@dataclass
class Service:
    """A service over memory, and its store's time."""

    http: httpx.AsyncClient
    now: int = T

    async def reader(self, source: str, subtask: int = 0) -> int:
        answer = await self.http.post(f"{GROUP}/sources/{source}/readers", json={"subtask": subtask})
        return int(answer.json()["epoch"])

    async def report(self, source: str, epoch: int, watermark: int, **more: Any) -> None:
        body = {"subtask": 0, "epoch": epoch, "watermark": watermark, **more}
        (await self.http.post(f"{GROUP}/sources/{source}/watermarks", json=body)).raise_for_status()

    async def seen(self, source: str) -> dict[str, Any]:
        """Reader 0 of the source, alike in the group and in the source."""
        found = (await self.http.get(f"{GROUP}/sources/{source}")).json()["readers"][0]
        group = (await self.http.get(GROUP)).json()
        (same,) = (each["readers"][0] for each in group["sources"] if each["source"] == source)
        assert {key: value for key, value in found.items() if key != "splits"} == same
        return dict(found)


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    transport = httpx.ASGITransport(create_app(MemoryStore(lambda: made.now)))
    async with httpx.AsyncClient(transport=transport, base_url="http://coordinator") as http:
        made = Service(http)
        yield made


FACTS = {
    "late_rows": 2,
    "rows_saved": 40_000,
    "retained_until": T + 60_000,
    "retention_split": "p",
    "producer_lag_ms": 1_500,
    "event_time_rate": 60_000,
}


async def test_the_facts_of_a_reader_are_shown_with_what_is_left_of_the_retention_now(service: Service) -> None:
    epoch = await service.reader("a")
    assert (await service.seen("a"))["facts"] is None
    await service.report("a", epoch, T, facts=FACTS)
    expected = {**FACTS, "retained_until_iso": "2026-01-01T00:01:00.000Z"}
    assert (await service.seen("a"))["facts"] == {**expected, "retention_left_ms": 60_000}
    service.now = T + 20_000
    await service.report("a", epoch, T + 1)
    assert (await service.seen("a"))["facts"] == {**expected, "retention_left_ms": 40_000}
    service.now = T + 90_000
    assert (await service.seen("a"))["facts"]["retention_left_ms"] == 0


async def test_facts_that_say_little_show_null_for_all_else(service: Service) -> None:
    await service.report("a", await service.reader("a"), T, facts={"event_time_rate": 0})
    shown = (await service.seen("a"))["facts"]
    assert shown.pop("event_time_rate") == 0
    assert set(shown.values()) == {None}


async def test_a_reader_that_hangs_keeps_its_lease_and_its_progress_gets_old(service: Service) -> None:
    epoch = await service.reader("a")
    assert (await service.seen("a"))["progress_age_ms"] is None
    splits = {"p": {"watermark": T, "state": "active", "position": 7}}
    for _ in range(10):  # a thread that keeps the lease while nothing moves
        await service.report("a", epoch, T, batch_id=3, splits=splits)
        service.now += 9_000
    seen = await service.seen("a")
    assert (seen["state"], seen["lease_left_ms"], seen["progress_age_ms"]) == ("active", 21_000, 90_000)


@pytest.mark.parametrize(
    "moved",
    [{"watermark": T + 1}, {"batch_id": 4}, {"splits": {"p": {"watermark": T, "state": "active", "position": 8}}}],
    ids=["watermark", "batch", "position"],
)
async def test_a_moved_watermark_batch_or_position_is_progress(service: Service, moved: dict[str, Any]) -> None:
    epoch = await service.reader("a")
    before: dict[str, Any] = {
        "watermark": T,
        "batch_id": 3,
        "splits": {"p": {"watermark": T, "state": "active", "position": 7}},
    }
    await service.report("a", epoch, **before)
    service.now += 5_000
    await service.report("a", epoch, **before | moved)
    service.now += 10
    assert (await service.seen("a"))["progress_age_ms"] == 10


async def test_a_reader_that_is_held_shows_for_how_long(service: Service) -> None:
    await service.http.put(GROUP, json={"max_drift_ms": 10, "catch_up": "strict", "max_wait_ms": 2_000})
    slow, fast = await service.reader("slow"), await service.reader("fast")
    await service.report("slow", slow, T)
    await service.report("fast", fast, T + 10)
    service.now += 1_500
    assert [(await service.seen(name))["waiting_ms"] for name in ("fast", "slow")] == [1_500, None]
    assert (await service.seen("fast"))["overdue"] is False
    service.now += 500
    assert (await service.seen("fast"))["overdue"] is True


async def test_a_reader_that_is_passed_over_shows_it(service: Service) -> None:
    await service.http.put(
        GROUP, json={"max_drift_ms": 10, "catch_up": "strict", "max_wait_ms": 2_000, "on_max_wait": "proceed"}
    )
    old, live = await service.reader("old"), await service.reader("live")
    await service.report("old", old, T)
    await service.report("live", live, T + 86_400_000)
    service.now += 2_000
    assert [(await service.seen(name))["state"] for name in ("old", "live")] == ["passed_over", "active"]
    assert (await service.http.get(GROUP)).json()["drift_ms"] == 0


async def test_a_parked_reader_shows_until_when(service: Service) -> None:
    await service.report("a", await service.reader("a"), T, idle=True, park_ms=3_600_000)
    service.now += 600_000
    seen = await service.seen("a")
    assert (seen["state"], seen["lease_left_ms"], seen["parked_until"]) == ("parked", 3_000_000, T + 3_600_000)
    assert seen["parked_until_iso"] == "2026-01-01T01:00:00.000Z"
    service.now += 3_000_000
    seen = await service.seen("a")
    assert (seen["state"], seen["lease_left_ms"], seen["parked_until"]) == ("lost", 0, None)


async def test_a_lost_reader_offers_nothing(service: Service) -> None:
    await service.report("a", await service.reader("a"), T, reach=T + 5)
    assert (await service.seen("a"))["reach"] == T + 5
    service.now += 30_000
    assert (await service.seen("a"))["reach"] is None


async def test_the_list_says_who_holds_and_how_far_the_foremost_is(service: Service) -> None:
    for source, ahead in (("a", 0), ("b", 700), ("idle", 9_000)):
        await service.report(source, await service.reader(source), T + ahead, idle=source == "idle")
    (item,) = (await service.http.get("/v1/groups")).json()["items"]
    assert (item["drift_ms"], item["readers"]) == (700, 3)
    assert item["blocked_by"] == [{"source": "a", "subtask": 0, "watermark": T, "split": None}]


async def pages(http: httpx.AsyncClient, path: str, limit: int) -> list[dict[str, Any]]:
    found, after = [], dict[str, Any]()
    while True:
        page = (await http.get(path, params={"limit": limit, **after})).json()
        found.append(page)
        if page["next"] is None:
            return found
        after = {"after": page["next"]}


async def test_a_group_comes_in_pages_of_readers_by_source_and_subtask(service: Service) -> None:
    for source, subtask in (("b", 0), ("a", 10), ("a", 9), ("b", 1), ("c", 0)):
        await service.reader(source, subtask)
    found = await pages(service.http, GROUP, 2)
    readers = [[(each["source"], r["subtask"]) for each in page["sources"] for r in each["readers"]] for page in found]
    assert readers == [[("a", 9), ("a", 10)], [("b", 0), ("b", 1)], [("c", 0)]]
    assert {page["readers"] for page in found} == {5}


async def test_a_source_comes_in_pages_by_subtask(service: Service) -> None:
    for subtask in (10, 9, 2):
        await service.reader("a", subtask)
    found = await pages(service.http, f"{GROUP}/sources/a", 2)
    assert [[reader["subtask"] for reader in page["readers"]] for page in found] == [[2, 9], [10]]
    beyond = await service.http.get(f"{GROUP}/sources/a", params={"after": 10})
    assert (beyond.status_code, beyond.json()["readers"]) == (200, [])


@pytest.mark.parametrize("after", ["", "a", "a/", "a/x", "a/-1", "a b/1", "/1"])
async def test_an_after_that_is_no_reader_is_a_problem(service: Service, after: str) -> None:
    await service.reader("a")
    refused = await service.http.get(GROUP, params={"after": after})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "after")


@pytest.mark.parametrize("number", ["1.0", " 1", "+1", "1_0", "0x1", "١", "1e1", "9" * 19, "9" * 5_000])
async def test_a_number_in_a_query_is_read_as_strictly_as_in_a_body(service: Service, number: str) -> None:
    await service.reader("a")
    for path, name in ((f"{GROUP}/alignment", "after"), (GROUP, "limit"), (f"{GROUP}/sources/a", "after")):
        refused = await service.http.get(path, params={name: number})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, name)


@pytest.fixture(scope="module")
def crowd() -> Group:
    """Return a group of 100,000 readers."""
    reports = (ReportedWatermarkEvent(subtask=subtask, epoch=1, watermark=T + subtask) for subtask in range(100_000))
    readers = {("s", event.subtask): Reader(epoch=1, heard_at=T, reported=event, progressed_at=T) for event in reports}
    return replace(create("g", GroupConfig(), T), readers=Readers.of(readers), started=True)


def test_an_answer_holds_one_page_of_a_hundred_thousand_readers(crowd: Group) -> None:
    group, event = evaluate(crowd, T)
    begun = perf_counter()
    found = at_once(inspected(group, event, T, limit=100))
    assert perf_counter() - begun < 10  # 0.2 s where nothing else runs
    assert ([len(source["readers"]) for source in found["sources"]], found["readers"], found["next"]) == (
        [100],
        100_000,
        "s/99",
    )
    assert summary(group, event, T)["drift_ms"] is None
