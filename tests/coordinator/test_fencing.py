"""Who speaks for a reader: the same to whichever of several replicas over one Redis, with everybody
at once. (Older epochs beside newer ones: test_races.py.)
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.store import open_store
from lockgate_coordinator.store.base import CACHED_WITHIN_MS
from lockgate_testbed.redis import RedisServer
from support.in_process import Service

pytestmark = pytest.mark.redis

LEASE_MS = 400


@pytest.fixture
async def replicas(redis_server: RedisServer) -> AsyncIterator[list[Service]]:
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
    async with AsyncExitStack() as stack:
        opened = [Service(store=open_store(redis_server.url)) for _ in range(3)]
        yield [await stack.enter_async_context(each.running()) for each in opened]


async def registers(replica: Service, source: str, owner: str) -> httpx.Response:
    path = f"/v1/groups/g/sources/{source}/readers"
    return await replica.http.post(path, json={"subtask": 0, "owner": owner})


async def test_one_of_many_owners_that_register_at_once_gets_the_reader(replicas: list[Service]) -> None:
    for turn in range(5):
        answers = await asyncio.gather(*(registers(replicas[n % 3], f"s{turn}", f"run-{n}") for n in range(12)))
        (winner,) = [n for n, answer in enumerate(answers) if answer.status_code == 201]
        refused = [answer.json() for n, answer in enumerate(answers) if n != winner]
        assert {(no["status"], no["type"], no["owner"]) for no in refused} == {
            (409, "urn:lockgate:reader-busy", f"run-{winner}")
        }


async def test_lease_that_ends_while_others_report_ends_once_for_all(replicas: list[Service]) -> None:
    replicas[0].config = {**replicas[0].config, "lease_ms": LEASE_MS}
    events: list[dict[str, Any]] = [await replicas[0].reports("dies", 50)]
    began = events[0]["revision"]  # the time in Redis
    while events[-1]["group_watermark"] != 1_000:
        answers = await asyncio.gather(*(replica.reports(f"s{n}", 1_000) for n, replica in enumerate(replicas)))
        events += sorted(answers, key=lambda event: event["revision"])
    by_revision = {event["revision"]: event["group_watermark"] for event in events}
    assert [by_revision[revision] for revision in sorted(by_revision)] == [50, 1_000]
    assert max(by_revision) >= began + LEASE_MS - 2 * CACHED_WITHIN_MS
    coming = await asyncio.gather(*(registers(replica, "dies", f"run-{n}") for n, replica in enumerate(replicas)))
    winners = {f"run-{n}" for n, answer in enumerate(coming) if answer.status_code == 201}
    assert winners, "its lease keeps nobody out any more"
    assert {answer.json()["owner"] for answer in coming if answer.status_code != 201} <= winners
    assert (await replicas[0].answers("dies", 0)).json()["type"] == "urn:lockgate:stale-epoch"
