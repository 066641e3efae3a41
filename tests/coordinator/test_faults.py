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

from lockgate_coordinator.app import create_app
from lockgate_coordinator.server import GRACE_S
from lockgate_coordinator.store import keys, open_store
from lockgate_coordinator.store.connections import TIMEOUT_S
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.children import doing_first

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


class Replica:
    """One coordinator in this process, over a store of its own, and readers of subtask 0 that speak
    to it.
    """

    def __init__(self, http: httpx.AsyncClient, epochs: dict[str, int]) -> None:
        self.http = http
        self.epochs = epochs

    async def registers(self, source: str, **more: Any) -> dict[str, Any]:
        answer = await self.http.post(f"{GROUP}/sources/{source}/readers", json={"subtask": 0, **more})
        assert answer.status_code == 201, answer.text
        said: dict[str, Any] = answer.json()
        assert said["epoch"] > self.epochs.get(source, 0)
        self.epochs[source] = said["epoch"]
        return said

    async def answers(self, source: str, watermark: int) -> httpx.Response:
        body = {"subtask": 0, "epoch": self.epochs[source], "watermark": watermark}
        return await self.http.post(f"{GROUP}/sources/{source}/watermarks", json=body)

    async def reports(self, source: str, watermark: int) -> dict[str, Any]:
        answer = await self.answers(source, watermark)
        assert answer.status_code == 200, answer.text
        event: dict[str, Any] = answer.json()
        return event

    async def sees(self) -> dict[str, Any]:
        event: dict[str, Any] = (await self.http.get(f"{GROUP}/alignment")).raise_for_status().json()
        return event


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[RedisServer]:
    """Yield a Redis of the test's own, to be stopped; it keeps nothing but what it is asked to
    save.
    """
    assert redis_server.pid, "whether there is any is the shared one's matter"
    with RedisServer(options=("--save", "", "--appendonly", "no", "--dbfilename", "kept.rdb")) as own:
        yield own


@pytest.fixture
async def replicas(redis: RedisServer) -> AsyncIterator[tuple[Replica, Replica, Replica]]:
    """Three, which all know the group `g`: `slow` stands at 50 and `fast` at 1,000, so the ceiling
    is 60.
    """
    async with AsyncExitStack() as stack:
        epochs: dict[str, int] = {}
        opened = []
        for _ in range(3):
            app = create_app(open_store(redis.url))
            await stack.enter_async_context(app.router.lifespan_context(app))
            client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator", timeout=30)
            opened.append(Replica(await stack.enter_async_context(client), epochs))
        first, second, third = opened
        await first.http.put(GROUP, json=CONFIG)
        for source, watermark in (("slow", 50), ("fast", 1_000)):
            await first.registers(source)
            await first.reports(source, watermark)
        told = [await replica.reports("fast", 1_000) for replica in opened]
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
async def test_while_redis_is_gone_all_is_503_but_livez_and_then_it_goes_on_by_itself(
    redis: RedisServer, replicas: tuple[Replica, Replica, Replica], fault: Fault
) -> None:
    first, second, _ = replicas
    revision = (await first.sees())["revision"]
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
    assert await first.sees() == event


async def test_an_emptied_redis_ends_the_group_at_every_replica_and_it_stands_again_below_what_was_told(
    redis: RedisServer, replicas: tuple[Replica, Replica, Replica]
) -> None:
    told = await replicas[0].sees()
    with Redis.from_url(redis.url) as client:
        client.flushall()
    for replica in replicas:  # each remembers the group
        for source in ("slow", "fast"):
            assert (await replica.answers(source, 2_000)).json()["type"] == "urn:lockgate:unknown-group"
    first, second, third = replicas
    await first.registers("fast", config=CONFIG, ceiling=told["max_desired_watermark"])
    alone = await second.reports("fast", 1_000)
    assert (alone["group_watermark"], alone["max_desired_watermark"]) == (1_000, 60)
    await third.registers("slow", config=CONFIG, ceiling=told["max_desired_watermark"])
    both = await first.reports("slow", 52)
    assert (both["group_watermark"], both["max_desired_watermark"]) == (52, 60)
    assert told["revision"] < alone["revision"] < both["revision"]
    assert [await replica.sees() for replica in replicas] == [both] * 3


async def test_a_redis_that_went_back_in_time_is_believed_and_gives_out_nothing_twice(
    redis: RedisServer, replicas: tuple[Replica, Replica, Replica]
) -> None:
    first, second, third = replicas
    with Redis.from_url(redis.url) as client:
        client.save()
    await first.http.put(GROUP, json=CONFIG | {"max_drift_ms": 20})
    await second.registers("slow")
    lost = [await second.reports("slow", watermark) for watermark in (51, 52, 53)][-1]
    assert (await third.sees()) == lost
    redis.kill()
    redis.start()
    # as long ago; nobody had been told of less
    assert (await third.sees())["max_desired_watermark"] == 60
    await third.registers("new")  # so the history goes on beyond what the others remember
    stale = await second.answers("slow", 54)
    assert stale.json()["type"] == "urn:lockgate:stale-epoch"
    await third.registers("slow")
    event = await first.reports("slow", 54)
    assert (event["group_watermark"], event["max_desired_watermark"]) == (54, 64)
    assert event["revision"] > lost["revision"]
    assert [await replica.sees() for replica in replicas] == [event] * 3


async def test_a_change_by_one_replica_is_seen_at_once_by_the_others(
    replicas: tuple[Replica, Replica, Replica],
) -> None:
    first, second, third = replicas
    for turn in range(3):
        await first.http.delete(f"{GROUP}/sources/slow/readers/0", params={"force": True})
        assert (await second.sees())["group_watermark"] == 1_000
        await first.http.delete(GROUP)
        assert (await second.answers("fast", 1_000)).status_code == 404
        await second.http.put(GROUP, json=CONFIG)
        await first.registers("slow")
        await second.registers("fast")
        await first.reports("slow", turn)
        event = await second.reports("fast", 1_000)
        assert event["group_watermark"] == turn
        assert [await replica.sees() for replica in (third, second, first)] == [event] * 3


def test_the_commits_that_a_killed_replica_had_acknowledged_are_kept(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as doomed, CoordinatorProcess(redis.url) as other:
        acknowledged = asyncio.run(asyncio.wait_for(_reports_until_it_is_killed(doomed, readers=20), 60))
        found = httpx.get(f"{other.url}{GROUP}", timeout=60).json()["sources"][0]["readers"]
        assert len(acknowledged) == len(found) == 20
        for reader, (watermark, under_way) in zip(found, acknowledged, strict=True):
            assert reader["watermark"] in (watermark, under_way)


async def _reports_until_it_is_killed(doomed: CoordinatorProcess, readers: int) -> list[tuple[int, int]]:
    """For each reader what was acknowledged last, and what was sent and not answered."""
    enough, registered = asyncio.Event(), set[int]()

    async def one(subtask: int) -> tuple[int, int]:
        async with httpx.AsyncClient(base_url=doomed.url, timeout=30) as http:
            answer = await http.post(f"{GROUP}/sources/a/readers", json={"subtask": subtask})
            registered.add(subtask)
            body, acknowledged = {"subtask": subtask, "epoch": answer.json()["epoch"], "watermark": 0}, 0
            try:
                while True:
                    body["watermark"] += 1
                    (await http.post(f"{GROUP}/sources/a/watermarks", json=body)).raise_for_status()
                    acknowledged = body["watermark"]
                    if acknowledged > 20 and len(registered) == readers:
                        enough.set()
            except httpx.TransportError:
                return acknowledged, body["watermark"]

    async def kill() -> None:
        await enough.wait()
        doomed.kill()

    *reported, _ = await asyncio.gather(*(one(subtask) for subtask in range(readers)), kill())
    return [each for each in reported if each is not None]


@pytest.mark.long
async def test_a_replica_that_was_stopped_for_longer_than_a_lease_comes_back_to_what_holds(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as stopped_one, CoordinatorProcess(redis.url) as other:
        async with (
            httpx.AsyncClient(base_url=stopped_one.url, timeout=30) as there,
            httpx.AsyncClient(base_url=other.url, timeout=30) as http,
        ):
            here, epochs = Replica(http, {}), dict[str, int]()
            here.epochs = epochs
            asleep = Replica(there, epochs)
            await here.http.put(GROUP, json=CONFIG)
            await here.registers("slow")
            await here.registers("fast")
            await asleep.reports("slow", 50)
            assert (await asleep.reports("fast", 1_000))["group_watermark"] == 50
            assert stopped_one.pid is not None
            await here.http.put(GROUP, json=CONFIG | {"lease_ms": 300})
            await asleep.reports("slow", 50)  # the shorter lease holds from here on
            os.kill(stopped_one.pid, signal.SIGSTOP)
            late = asyncio.create_task(asleep.answers("slow", 51))
            # until its lease has ended
            while (event := await here.reports("fast", 1_000))["group_watermark"] == 50:
                pass
            await here.registers("slow")
            await here.http.put(GROUP, json=CONFIG)
            event = await here.reports("slow", 70)
            os.kill(stopped_one.pid, signal.SIGCONT)
            assert (await asyncio.wait_for(late, 30)).status_code == 200 or (await late).json()[
                "type"
            ] == "urn:lockgate:stale-epoch"
            assert await asleep.sees() == await here.sees() == event


async def test_sigterm_answers_the_report_that_is_under_way_refuses_new_connections_and_ends_streams_and_polls(
    redis: RedisServer, tmp_path: Path
) -> None:
    with CoordinatorProcess(redis.url, env=doing_first(tmp_path, PATIENT)) as coordinator:
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(httpx.AsyncClient(base_url=coordinator.url, timeout=30))
                for _ in range(4)
            ]
            reporter = Replica(clients[0], {})
            await reporter.registers("a")
            revision = (await reporter.reports("a", 5))["revision"]
            poll = asyncio.create_task(
                clients[1].get(f"{GROUP}/alignment", params={"after": revision, "wait_ms": 60_000})
            )
            stream = await stack.enter_async_context(clients[2].stream("GET", f"{GROUP}/alignment/events"))
            lines = stream.aiter_lines()
            assert await anext(lines) == "event: alignment"
            await asyncio.wait_for(_waiting(clients[3], 2), 20)
            await reporter.reports("a", 5)  # answered after what the poll has asked the store before it waits
            with stopped(redis):
                under_way = asyncio.create_task(reporter.answers("a", 6))
                await asyncio.wait_for(_asked(clients[3]), 20)
                assert coordinator.pid is not None
                os.kill(coordinator.pid, signal.SIGTERM)
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
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(httpx.AsyncClient(base_url=coordinator.url, timeout=30))
                for _ in range(3)
            ]
            reporter = Replica(clients[0], {})
            await reporter.registers("a")
            poll = asyncio.create_task(clients[1].get(f"{GROUP}/alignment", params={"after": 2**62, "wait_ms": 60_000}))
            await asyncio.wait_for(_asked(clients[2]), 20)
            with stopped(redis):
                under_way = asyncio.create_task(reporter.answers("a", 6))
                await asyncio.wait_for(_asked(clients[2]), 20)
                assert coordinator.pid is not None
                os.kill(coordinator.pid, signal.SIGTERM)
                assert (await asyncio.wait_for(poll, 20)).status_code in (204, 503)
                assert (await asyncio.wait_for(under_way, 20)).status_code == 503
                await asyncio.to_thread(wait_for, lambda: coordinator.pid is None, 20)


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


async def _asked(http: httpx.AsyncClient) -> None:
    """Return when the coordinator has read what was sent to it before this."""
    for _ in range(3):
        assert (await http.get("/livez")).status_code == 200
