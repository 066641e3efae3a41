"""Who waits is woken. What else wakes and ends polls: service/test_announcer.py."""

import asyncio
from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX
from support.in_process import Service

QUICK = {"lease_ms": 200, "update_interval_ms": 20}


def polling(service: Service, after: int, wait_ms: int = 60_000) -> "asyncio.Task[httpx.Response]":
    path = f"/v1/groups/g/alignment?after={after}&wait_ms={wait_ms}"
    return asyncio.create_task(service.http.get(path))


async def test_a_poll_is_woken_by_a_report_and_many_by_the_same(api: httpx.AsyncClient, service: Service) -> None:
    service.http = api  # over each store
    event = await service.reports("a", 5)
    polls = [polling(service, event["revision"]) for _ in range(5)]
    await polling(service, event["revision"], 30)  # by then the five are waiting
    other = await service.reports("b", 3)
    assert [(await poll).json() for poll in polls] == [other] * 5


@pytest.mark.parametrize("sooner", [{"config": QUICK}, {"park_ms": 200}], ids=["configured", "parked"])
async def test_a_lease_that_ends_sooner_wakes_who_waits_for_its_end(
    api: httpx.AsyncClient, service: Service, sooner: dict[str, Any]
) -> None:
    service.http = api
    event = await service.reports("a", 5)
    poll = polling(service, event["revision"])
    await polling(service, event["revision"], 30)
    if "config" in sooner:
        await api.put("/v1/groups/g", json={**service.config, **sooner["config"]})
    await service.reports("a", 5, park_ms=sooner.get("park_ms"))
    assert (await asyncio.wait_for(poll, 10)).json()["max_desired_watermark"] == MAX
