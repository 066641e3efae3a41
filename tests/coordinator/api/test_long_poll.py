import asyncio
from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import Store

GROUP = "/v1/groups/g"
QUICK = {"lease_ms": 200, "update_interval_ms": 20}


async def reporting(api: httpx.AsyncClient, source: str, watermark: int, **more: Any) -> dict[str, Any]:
    epoch = (await api.post(f"{GROUP}/sources/{source}/readers", json={"subtask": 0})).json()["epoch"]
    body = {"subtask": 0, "epoch": epoch, "watermark": watermark} | more
    event: dict[str, Any] = (await api.post(f"{GROUP}/sources/{source}/watermarks", json=body)).json()
    return event


def polling(api: httpx.AsyncClient, after: int, wait_ms: int) -> "asyncio.Task[httpx.Response]":
    return asyncio.create_task(api.get(f"{GROUP}/alignment", params={"after": after, "wait_ms": wait_ms}))


async def test_a_poll_returns_at_once_when_the_revision_is_above(api: httpx.AsyncClient) -> None:
    event = await reporting(api, "a", 5)
    assert (await polling(api, event["revision"] - 1, 60_000)).json() == event


async def test_a_poll_without_change_ends_with_204(api: httpx.AsyncClient) -> None:
    event = await reporting(api, "a", 5)
    for wait_ms in (0, 30):
        answer = await polling(api, event["revision"], wait_ms)
        assert (answer.status_code, answer.content) == (204, b"")


async def test_a_poll_is_woken_by_a_report_and_many_by_the_same(api: httpx.AsyncClient) -> None:
    event = await reporting(api, "a", 5)
    polls = [polling(api, event["revision"], 60_000) for _ in range(5)]
    await polling(api, event["revision"], 30)  # by then the five are waiting
    other = await reporting(api, "b", 3)
    assert [(await poll).json() for poll in polls] == [other] * 5


async def test_a_poll_sees_a_lost_reader_without_any_other_request(api: httpx.AsyncClient) -> None:
    await api.put(GROUP, json=QUICK)
    event = await reporting(api, "a", 5)
    seen = (await asyncio.wait_for(polling(api, event["revision"], 60_000), 30)).json()
    assert (seen["max_desired_watermark"], seen["blocked_by"]) == (MAX, [])
    # revisions are the clock's, or a few ms ahead of it
    waited_ms = seen["revision"] - event["revision"]
    assert QUICK["lease_ms"] - 10 <= waited_ms < QUICK["lease_ms"] + 20_000


async def test_a_poll_sees_the_end_of_a_new_groups_grace(api: httpx.AsyncClient) -> None:
    config = {"lease_ms": 2_000, "update_interval_ms": 20, "on_lost_reader": "hold", "max_drift_ms": 10}
    body = {"subtask": 0, "config": config, "ceiling": 7}
    epoch = (await api.post(f"{GROUP}/sources/a/readers", json=body)).json()["epoch"]
    event = (
        await api.post(f"{GROUP}/sources/a/watermarks", json={"subtask": 0, "epoch": epoch, "watermark": 5})
    ).json()
    assert event["max_desired_watermark"] == 7
    seen = (await asyncio.wait_for(polling(api, event["revision"], 60_000), 30)).json()
    assert seen["max_desired_watermark"] == 15


async def test_a_poll_ends_when_the_group_is_deleted(api: httpx.AsyncClient) -> None:
    event = await reporting(api, "a", 5)
    poll = polling(api, event["revision"], 60_000)
    await polling(api, event["revision"], 30)
    await api.delete(GROUP)
    assert (await asyncio.wait_for(poll, 10)).json()["type"] == "urn:lockgate:unknown-group"


@pytest.mark.parametrize("sooner", [{"config": QUICK}, {"park_ms": 200}], ids=["configured", "parked"])
async def test_a_lease_that_ends_sooner_wakes_who_waits_for_its_end(
    api: httpx.AsyncClient, sooner: dict[str, Any]
) -> None:
    event = await reporting(api, "a", 5)
    poll = polling(api, event["revision"], 60_000)
    await polling(api, event["revision"], 30)
    if "config" in sooner:
        await api.put(GROUP, json=sooner["config"])
    await reporting(api, "a", 5, park_ms=sooner.get("park_ms"))
    assert (await asyncio.wait_for(poll, 10)).json()["max_desired_watermark"] == MAX


async def test_when_the_service_ends_so_do_its_polls(store: Store) -> None:
    app = create_app(store)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as api:
        event = await reporting(api, "a", 5)
        poll = polling(api, event["revision"], 60_000)
        await polling(api, event["revision"], 30)
        app.state.coordinator.end_waiting()
        assert (await asyncio.wait_for(poll, 10)).status_code == 204


async def test_a_poll_on_an_unknown_group_is_told_so(api: httpx.AsyncClient) -> None:
    assert (await polling(api, 0, 1_000)).status_code == 404
