"""Faults on purpose, each with what readers see meanwhile and afterwards: a Redis that is gone,
silent, emptied or back in time, and replicas that are killed, stopped or told to end in the middle
of their work.
"""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.server import GRACE_S
from lockgate_coordinator.store import keys, open_store
from lockgate_coordinator.store.connections import TIMEOUT_S
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.children import doing_first
from support.in_process import Readers, Service

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/g"
CONFIG = {"max_drift_ms": 10, "update_interval_ms": 100, "catch_up": "strict", "lease_ms": 600_000}

PATIENT = """
from lockgate_coordinator import server
from lockgate_coordinator.store import connections
server.GRACE_S = connections.TIMEOUT_S = 60
"""
"""A coordinator that runs this first waits for whatever is under way, however long the machine
pauses.
"""


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[RedisServer]:
    """Yield a Redis of the test's own, to be stopped; it keeps nothing but what it is asked to
    save.
    """
    assert redis_server.pid, "whether there is any is the shared one's matter"
    with RedisServer(options=("--save", "", "--appendonly", "no", "--dbfilename", "kept.rdb")) as own:
        yield own


@pytest.fixture
async def replicas(redis: RedisServer) -> AsyncIterator[tuple[Service, Service, Service]]:
    """Three, which all know the group `g`: `slow` stands at 50 and `fast` at 1,000, so the ceiling
    is 60.
    """
    async with AsyncExitStack() as stack:
        epochs = dict[str, int]()
        opened = [Service(store=open_store(redis.url), config=CONFIG, epochs=epochs) for _ in range(3)]
        first, second, third = [await stack.enter_async_context(each.running()) for each in opened]
        await first.reports("slow", 50)
        told = [await replica.reports("fast", 1_000) for replica in (first, second, third)]
        assert [event["max_desired_watermark"] for event in told] == [60, 60, 60]
        yield first, second, third


@contextmanager
def killed(server: RedisServer) -> Iterator[None]:
    """Nobody listens."""
    server.kill()
    yield
    server.start()


@contextmanager
def stopped(server: RedisServer) -> Iterator[None]:
    """It takes connections and bytes, and says nothing."""
    assert server.pid is not None
    os.kill(server.pid, signal.SIGSTOP)
    yield
    os.kill(server.pid, signal.SIGCONT)


@contextmanager
def replaced_by_a_silent_port(server: RedisServer) -> Iterator[None]:
    """Somebody else listens there, and never says a word."""
    server.kill()
    with socket.create_server(("127.0.0.1", server.port)):
        yield
    server.start()


Fault = Callable[[RedisServer], Any]


@pytest.mark.usefixtures("own_store_timeout")
@pytest.mark.parametrize(
    "fault", [stopped, *(pytest.param(each, marks=pytest.mark.long) for each in (killed, replaced_by_a_silent_port))]
)
async def test_while_redis_is_gone_all_is_503_but_livez_until_it_is_back(
    redis: RedisServer, replicas: tuple[Service, Service, Service], fault: Fault
) -> None:
    first, second, _ = replicas
    revision = (await first.shows("/alignment"))["revision"]
    with Redis.from_url(redis.url) as client:
        client.save()
    with fault(redis):
        asked = (
            first.answers("slow", 55),
            second.answers("fast", 1_000),
            first.http.put(GROUP, json=CONFIG | {"max_drift_ms": 7}),
            first.http.get("/v1/groups"),
            second.http.get(f"{GROUP}/alignment"),
            second.http.delete("/v1/groups/another"),
            second.http.get("/readyz"),
        )
        for answer in await asyncio.wait_for(asyncio.gather(*asked), 60):
            assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json")
            assert (answer.json()["type"], answer.headers["Retry-After"]) == ("urn:lockgate:store-unavailable", "1")
        assert (await first.http.get("/livez")).status_code == 200
    assert (await first.http.get("/readyz")).status_code == 200
    await first.http.put(GROUP, json=CONFIG)  # what was answered with 503 may have been applied
    event = await second.reports("slow", 55)
    assert (event["group_watermark"], event["max_desired_watermark"]) == (55, 65)
    assert event["revision"] > revision
    assert await first.shows("/alignment") == event


async def test_group_of_an_emptied_redis_begins_below_what_was_told(
    redis: RedisServer, replicas: tuple[Service, Service, Service]
) -> None:
    told = await replicas[0].shows("/alignment")
    with Redis.from_url(redis.url) as client:
        client.flushall()
    for replica in replicas:  # each remembers the group
        for source in ("slow", "fast"):
            assert (await replica.answers(source, 2_000)).json()["type"] == "urn:lockgate:unknown-group"
    first, second, third = replicas
    await first.registers("fast", ceiling=told["max_desired_watermark"])
    alone = await second.reports("fast", 1_000)
    assert (alone["group_watermark"], alone["max_desired_watermark"]) == (1_000, 60)
    await third.registers("slow", ceiling=told["max_desired_watermark"])
    both = await first.reports("slow", 52)
    assert (both["group_watermark"], both["max_desired_watermark"]) == (52, 60)
    assert told["revision"] < alone["revision"] < both["revision"]
    assert [await replica.shows("/alignment") for replica in replicas] == [both] * 3


async def test_killed_replica_has_lost_no_acknowledged_report(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as doomed, CoordinatorProcess(redis.url) as other:
        acknowledged = [0] * 20
        async with httpx.AsyncClient(base_url=doomed.url, timeout=30) as http:
            readers = Readers(http)
            for subtask in range(20):
                await readers.registers("a", subtask=subtask)

            async def reports(subtask: int) -> None:
                with suppress(httpx.TransportError):
                    while True:
                        answer = await readers.answers("a", acknowledged[subtask] + 1, subtask=subtask)
                        acknowledged[subtask] += answer.raise_for_status().is_success
                        if subtask == 0 and acknowledged[0] == 20:
                            doomed.kill()

            await asyncio.wait_for(asyncio.gather(*map(reports, range(20))), 60)
        async with httpx.AsyncClient(base_url=other.url, timeout=30) as http:
            found = (await Readers(http).shows())["sources"][0]["readers"]
        assert all(acknowledged)
        for reader, last in zip(found, acknowledged, strict=True):
            assert reader["watermark"] in (last, last + 1)  # the next one was under way


async def test_sigterm_answers_reports_under_way_and_ends_streams_and_polls(redis: RedisServer, tmp_path: Path) -> None:
    with CoordinatorProcess(redis.url, env=doing_first(tmp_path, PATIENT)) as coordinator:
        async with httpx.AsyncClient(base_url=coordinator.url, timeout=30) as http:
            readers = Readers(http)
            poll = asyncio.create_task(_poll(http, (await readers.reports("a", 5))["revision"]))
            async with http.stream("GET", f"{GROUP}/alignment/events") as stream:
                lines = stream.aiter_lines()
                assert await anext(lines) == "event: alignment"
                await asyncio.wait_for(_waiting(http, 2), 20)
                await readers.reports("a", 5)  # answered after what the poll has asked the store before it waits
                with stopped(redis):
                    under_way = asyncio.create_task(readers.answers("a", 6))
                    await _asked_then_ended(http, coordinator)
                    with pytest.raises(httpx.ConnectError):
                        await asyncio.wait_for(_connected_anew(coordinator.url), 20)
                    assert coordinator.pid is not None, "it was to refuse before it ended"
                    assert (await asyncio.wait_for(poll, 20)).status_code == 204
                    assert not under_way.done()
                assert (await asyncio.wait_for(under_way, 20)).json()["group_watermark"] == 6
                assert [line async for line in lines][-1] == ""
        wait_for(lambda: coordinator.pid is None, 20)
    with Redis.from_url(redis.url, decode_responses=True) as client:
        assert '"watermark":6' in str(client.hgetall(keys.state("g")))


async def test_sigterm_while_redis_hangs_ends_soon(redis: RedisServer) -> None:
    # what is promised; the rest of its time is for a machine that does other things
    assert max(GRACE_S, TIMEOUT_S) < 5
    with CoordinatorProcess(redis.url) as coordinator:
        async with httpx.AsyncClient(base_url=coordinator.url, timeout=30) as http:
            readers = Readers(http)
            await readers.registers("a")
            poll = asyncio.create_task(_poll(http, 2**62))
            await asyncio.wait_for(_waiting(http, 1), 20)
            with stopped(redis):
                under_way = asyncio.create_task(readers.answers("a", 6))
                await _asked_then_ended(http, coordinator)
                assert (await asyncio.wait_for(poll, 20)).status_code in (204, 503)
                assert (await asyncio.wait_for(under_way, 20)).status_code == 503
                await asyncio.to_thread(wait_for, lambda: coordinator.pid is None, 20)


async def _poll(http: httpx.AsyncClient, after: int) -> httpx.Response:
    return await http.get(f"{GROUP}/alignment", params={"after": after, "wait_ms": 60_000})


async def _asked_then_ended(http: httpx.AsyncClient, coordinator: CoordinatorProcess) -> None:
    """Send SIGTERM once the coordinator has read what was sent to it before this."""
    for _ in range(3):
        assert (await asyncio.wait_for(http.get("/livez"), 20)).status_code == 200
    assert coordinator.pid is not None
    os.kill(coordinator.pid, signal.SIGTERM)


async def _connected_anew(url: str) -> None:
    """Asks over new connections for as long as they are taken."""
    while True:
        async with httpx.AsyncClient(timeout=60) as http:
            with suppress(
                httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError
            ):  # it was taken in the last moment
                await http.get(f"{url}/livez")


async def _waiting(http: httpx.AsyncClient, requests: int) -> None:
    """Return when so many streams and long polls wait."""
    while True:
        lines = (await http.get("/metrics")).text.splitlines()
        waiting = (line for line in lines if line.startswith("lockgate_subscribers"))
        if sum(float(line.split()[-1]) for line in waiting) == requests:
            return
