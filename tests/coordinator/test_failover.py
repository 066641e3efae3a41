"""A Redis failover in which the last writes are lost: what the new master knows holds, and the
readers' next words mend the rest.
"""

import os
import signal
from typing import Any

import pytest
from redis import Redis

from lockgate_coordinator.store import open_store
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.redis_sentinel import SentinelledRedis
from support.answers import wait_for
from support.in_process import Service

pytestmark = pytest.mark.redis

CONFIG = {"update_interval_ms": 100, "lease_ms": 600_000}


async def test_failover_that_loses_writes_lets_no_reader_run_ahead(
    redis_server: RedisServer,
) -> None:
    with SentinelledRedis() as redis:
        async with Service(store=open_store(redis.url), config=CONFIG).running() as readers:
            for source, watermark in (("slow", 50), ("fast", 60)):
                before = await readers.reports(source, watermark)
            with Redis(port=redis.master.port) as master:
                assert master.wait(1, 60_000) == 1
            lost = await lose_what_is_written(redis, readers)
            # a Sentinel that was paused leaves all as it is for half a minute
            wait_for(redis.failed_over)
            stands = await readers.shows("/alignment")
            assert (stands["group_watermark"], stands["max_desired_watermark"]) == (50, 60)
            assert (await readers.answers("late", 70)).json()["type"] == "urn:lockgate:unknown-source"
            assert (await readers.answers("slow", 71)).json()["type"] == "urn:lockgate:stale-epoch"
            for source in ("late", "slow"):
                await readers.registers(source)
                event = await readers.reports(source, 72)
            assert (event["group_watermark"], event["max_desired_watermark"]) == (60, 70)
            event = await readers.reports("fast", 80)
            assert (event["group_watermark"], event["max_desired_watermark"]) == (72, 82)
            assert before["revision"] < lost["revision"] < event["revision"]


async def lose_what_is_written(redis: SentinelledRedis, readers: Service) -> dict[str, Any]:
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
        event = await readers.reports(source, 70)
    redis.master.kill()
    os.kill(redis.replica.pid, signal.SIGCONT)
    return event
