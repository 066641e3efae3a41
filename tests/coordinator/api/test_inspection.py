"""What an operator can see of a group, at a time that the test sets."""

from typing import Any

import httpx
import pytest

from support.in_process import T0, Service

GROUP = "/v1/groups/g"


@pytest.fixture
def service() -> Service:
    return Service(config={"update_interval_ms": 1_000, "catch_up": "joint", "max_drift_ms": 300_000})


async def seen(service: Service, source: str) -> dict[str, Any]:
    """Return reader 0 of the source, alike in the group and in the source."""
    found = (await service.shows(f"/sources/{source}"))["readers"][0]
    (same,) = (each["readers"][0] for each in (await service.shows())["sources"] if each["source"] == source)
    assert {key: value for key, value in found.items() if key != "splits"} == same
    return dict(found)


FACTS = {
    "late_rows": 2,
    "rows_saved": 40_000,
    "retained_until": T0 + 60_000,
    "retention_split": "p",
    "producer_lag_ms": 1_500,
    "event_time_rate": 60_000,
}


async def test_facts_are_shown_with_what_is_left_of_the_retention(service: Service) -> None:
    await service.registers("a")
    assert (await seen(service, "a"))["facts"] is None
    await service.reports("a", T0, facts=FACTS)
    expected = {**FACTS, "retained_until_iso": "2026-01-01T00:01:00.000Z"}
    assert (await seen(service, "a"))["facts"] == {**expected, "retention_left_ms": 60_000}
    service.now_ms = T0 + 20_000
    await service.reports("a", T0 + 1)
    assert (await seen(service, "a"))["facts"] == {**expected, "retention_left_ms": 40_000}
    service.now_ms = T0 + 90_000
    assert (await seen(service, "a"))["facts"]["retention_left_ms"] == 0


async def test_a_reader_that_hangs_keeps_its_lease_and_its_progress_gets_old(service: Service) -> None:
    await service.registers("a")
    assert (await seen(service, "a"))["progress_age_ms"] is None
    splits = {"p": {"watermark": T0, "state": "active", "position": 7}}
    for _ in range(10):  # a thread that keeps the lease while nothing moves
        await service.reports("a", T0, batch_id=3, splits=splits)
        service.now_ms += 9_000
    shown = await seen(service, "a")
    assert (shown["state"], shown["lease_left_ms"], shown["progress_age_ms"]) == ("active", 21_000, 90_000)


@pytest.mark.parametrize(
    "moved",
    [{"watermark": T0 + 1}, {"batch_id": 4}, {"splits": {"p": {"watermark": T0, "state": "active", "position": 8}}}],
    ids=["watermark", "batch", "position"],
)
async def test_a_moved_watermark_batch_or_position_is_progress(service: Service, moved: dict[str, Any]) -> None:
    await service.registers("a")
    before: dict[str, Any] = {
        "watermark": T0,
        "batch_id": 3,
        "splits": {"p": {"watermark": T0, "state": "active", "position": 7}},
    }
    await service.reports("a", **before)
    service.now_ms += 5_000
    await service.reports("a", **before | moved)
    service.now_ms += 10
    assert (await seen(service, "a"))["progress_age_ms"] == 10


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
        await service.registers(source, subtask=subtask)
    found = await pages(service.http, GROUP, 2)
    readers = [[(each["source"], r["subtask"]) for each in page["sources"] for r in each["readers"]] for page in found]
    assert readers == [[("a", 9), ("a", 10)], [("b", 0), ("b", 1)], [("c", 0)]]
    assert {page["readers"] for page in found} == {5}


@pytest.mark.parametrize("after", ["", "a", "a/", "a/x", "a/-1", "a b/1", "/1"])
async def test_an_after_that_is_no_reader_is_a_problem(service: Service, after: str) -> None:
    await service.registers("a")
    refused = await service.http.get(GROUP, params={"after": after})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "after")


@pytest.mark.parametrize("number", ["1.0", " 1", "+1", "1_0", "0x1", "١", "1e1", "9" * 19, "9" * 5_000])
async def test_a_number_in_a_query_is_read_as_strictly_as_in_a_body(service: Service, number: str) -> None:
    await service.registers("a")
    for path, name in ((f"{GROUP}/alignment", "after"), (GROUP, "limit"), (f"{GROUP}/sources/a", "after")):
        refused = await service.http.get(path, params={name: number})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, name)
