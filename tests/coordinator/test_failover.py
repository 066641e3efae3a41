"""A Redis failover in which the last writes are lost: what the new master knows holds, and the
readers' next words mend the rest.
"""

import os
import signal
from typing import Any

import httpx
import pytest
from redis import Redis

from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import open_store
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.redis_sentinel import SentinelledRedis
from support.answers import wait_for

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/g"
CONFIG = {"max_drift_ms": 10, "update_interval_ms": 100, "catch_up": "strict", "lease_ms": 600_000}


class Readers:
    """Readers of subtask 0, each of a source of its own."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self._epochs: dict[str, int] = {}

    async def registers(self, source: str) -> None:
        answer = await self._http.post(f"{GROUP}/sources/{source}/readers", json={"subtask": 0})
        epoch = answer.raise_for_status().json()["epoch"]
        assert epoch > self._epochs.get(source, 0)
        self._epochs[source] = epoch

    async def reports(self, source: str, watermark: int) -> httpx.Response:
        body = {"subtask": 0, "epoch": self._epochs[source], "watermark": watermark}
        return await self._http.post(f"{GROUP}/sources/{source}/watermarks", json=body)


async def told(answer: httpx.Response) -> dict[str, Any]:
    event: dict[str, Any] = answer.raise_for_status().json()
    return event


async def test_a_failover_that_loses_the_last_writes_lets_nobody_run_ahead_and_is_mended_by_the_next_reports(
    redis_server: RedisServer,
) -> None:
    with SentinelledRedis() as redis:
        app = create_app(open_store(redis.url))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://c") as http,
        ):
            await http.put(GROUP, json=CONFIG)
            readers = Readers(http)
            for source, watermark in (("slow", 50), ("fast", 60)):
                await readers.registers(source)
                before = await told(await readers.reports(source, watermark))
            with Redis(port=redis.master.port) as master:
                assert master.wait(1, 60_000) == 1
            lost = await lose_what_is_written(redis, readers)
            # a Sentinel that was paused leaves all as it is for half a minute
            wait_for(redis.failed_over)
            stands = (await http.get(f"{GROUP}/alignment")).json()
            assert (stands["group_watermark"], stands["max_desired_watermark"]) == (50, 60)
            assert (await readers.reports("late", 70)).json()["type"] == "urn:lockgate:unknown-source"
            assert (await readers.reports("slow", 71)).json()["type"] == "urn:lockgate:stale-epoch"
            for source in ("late", "slow"):
                await readers.registers(source)
                event = await told(await readers.reports(source, 72))
            assert (event["group_watermark"], event["max_desired_watermark"]) == (60, 70)
            event = await told(await readers.reports("fast", 80))
            assert (event["group_watermark"], event["max_desired_watermark"]) == (72, 82)
            assert before["revision"] < lost["revision"] < event["revision"]


async def lose_what_is_written(redis: SentinelledRedis, readers: Readers) -> dict[str, Any]:
    """Return what the master takes while its replica hears nothing of it, and with it dies: two
    registrations and their reports.
    """
    assert redis.replica.pid is not None
    os.kill(redis.replica.pid, signal.SIGSTOP)
    # or what is written would wait for it in its socket
    with Redis(port=redis.master.port) as master:
        assert master.client_kill_filter(_type="replica") == 1
    for source in ("slow", "late"):
        await readers.registers(source)
        event = await told(await readers.reports(source, 70))
    redis.master.kill()
    os.kill(redis.replica.pid, signal.SIGCONT)
    return event
