"""Who speaks for a reader: the same to whichever of several replicas over one Redis, with everybody
at once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import open_store
from lockgate_coordinator.store.base import CACHED_WITHIN_MS
from lockgate_testbed.redis import RedisServer

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/fencing"
CONFIG = {"max_drift_ms": 10, "catch_up": "strict", "lease_ms": 60_000}
REPLICAS, AT_ONCE = 3, 12


@pytest.fixture
async def replicas(redis_server: RedisServer) -> AsyncIterator[list[httpx.AsyncClient]]:
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
    async with AsyncExitStack() as stack:
        opened = []
        for _ in range(REPLICAS):
            app = create_app(open_store(redis_server.url))
            await stack.enter_async_context(app.router.lifespan_context(app))
            client_of = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator", timeout=30)
            opened.append(await stack.enter_async_context(client_of))
        await opened[0].put(GROUP, json=CONFIG)
        yield opened


async def registers(replica: httpx.AsyncClient, source: str, owner: str, *, takeover: bool = False) -> httpx.Response:
    return await replica.post(
        f"{GROUP}/sources/{source}/readers", json={"subtask": 0, "owner": owner, "takeover": takeover}
    )


async def reports(replica: httpx.AsyncClient, source: str, epoch: int, watermark: int) -> httpx.Response:
    body = {"subtask": 0, "epoch": epoch, "watermark": watermark}
    return await replica.post(f"{GROUP}/sources/{source}/watermarks", json=body)


async def test_one_of_many_owners_that_register_at_once_at_any_replica_gets_the_reader(
    replicas: list[httpx.AsyncClient],
) -> None:
    for turn in range(5):
        coming = (registers(replicas[n % REPLICAS], f"s{turn}", f"run-{n}") for n in range(AT_ONCE))
        answers = await asyncio.gather(*coming)
        (winner,) = [n for n, answer in enumerate(answers) if answer.status_code == 201]
        refused = [answer.json() for n, answer in enumerate(answers) if n != winner]
        assert {(no["status"], no["type"], no["owner"]) for no in refused} == {
            (409, "urn:lockgate:reader-busy", f"run-{winner}")
        }


async def test_every_replica_refuses_an_older_epoch_as_soon_as_a_newer_one_exists(
    replicas: list[httpx.AsyncClient],
) -> None:
    newest = 0  # that anybody has been told of

    async def run(number: int) -> tuple[int, int]:
        """One run of the query: its epoch, and how many of its reports were taken until it was
        fenced.
        """
        nonlocal newest
        random = Random(number)
        epoch: int = (await registers(random.choice(replicas), "a", f"run-{number}", takeover=True)).json()["epoch"]
        newest = max(newest, epoch)
        for taken in range(20):
            known = newest
            answer = await reports(random.choice(replicas), "a", epoch, number)
            if answer.status_code == 409:
                assert answer.json()["current_epoch"] > epoch
                return epoch, taken
            assert (answer.status_code, known) == (200, epoch)
        return epoch, 20

    ran = await asyncio.gather(*(run(number) for number in range(AT_ONCE)))
    epochs = [epoch for epoch, _ in ran]
    assert len(set(epochs)) == AT_ONCE
    assert [taken == 20 for _, taken in ran] == [epoch == max(epochs) for epoch in epochs]
    for replica in replicas:
        answers = await asyncio.gather(*(reports(replica, "a", epoch, -1) for epoch in epochs if epoch != newest))
        assert {(answer.status_code, answer.json()["current_epoch"]) for answer in answers} == {(409, newest)}
        assert (await replica.get(f"{GROUP}/alignment")).json()["group_watermark"] == epochs.index(newest)


async def test_a_lease_that_ends_while_others_report_ends_once_and_for_all_replicas(
    replicas: list[httpx.AsyncClient],
) -> None:
    lease_ms = 400
    await replicas[0].put(GROUP, json=CONFIG | {"lease_ms": lease_ms})
    dead: int = (await registers(replicas[0], "dies", "the dead")).json()["epoch"]
    epochs = [(await registers(replica, f"s{n}", "")).json()["epoch"] for n, replica in enumerate(replicas)]
    events: list[dict[str, Any]] = [(await reports(replicas[0], "dies", dead, 50)).json()]
    began = events[0]["revision"]  # the time in Redis
    while events[-1]["group_watermark"] != 1_000:
        answers = await asyncio.gather(
            *(reports(replica, f"s{n}", epochs[n], 1_000) for n, replica in enumerate(replicas))
        )
        events += sorted((answer.json() for answer in answers), key=lambda event: event["revision"])
    by_revision = {event["revision"]: event["group_watermark"] for event in events}
    assert [by_revision[revision] for revision in sorted(by_revision)] == [50, 1_000]
    assert max(by_revision) >= began + lease_ms - 2 * CACHED_WITHIN_MS
    answers = await asyncio.gather(*(registers(replica, "dies", f"run-{n}") for n, replica in enumerate(replicas)))
    winners = {f"run-{n}" for n, answer in enumerate(answers) if answer.status_code == 201}
    assert winners, "its lease keeps nobody out any more"
    assert {answer.json()["owner"] for answer in answers if answer.status_code != 201} <= winners
    for replica in replicas:
        assert (await reports(replica, "dies", dead, 0)).json()["type"] == "urn:lockgate:stale-epoch"
