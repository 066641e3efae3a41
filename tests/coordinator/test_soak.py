"""Ten minutes of everything that comes and goes, and nothing of it stays (`make long`;
LOCKGATE_SOAK_SECONDS for less or more).
"""

import asyncio
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import httpx
import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.children import doing_first

pytestmark = [pytest.mark.long, pytest.mark.redis]

SECONDS = float(os.environ.get("LOCKGATE_SOAK_SECONDS", "600"))
WORKERS, SAMPLES = 12, 20
CONFIG = {"lease_ms": 2_000, "update_interval_ms": 50, "max_drift_ms": 100}
MEBIBYTE = 1024 * 1024
TASKS = """
import asyncio, gc, os, signal
def tell(*_):
    with open({file!r} + ".new", "w") as told:
        told.write(str(sum(type(each) is asyncio.Task and not each.done() for each in gc.get_objects())))
    os.replace({file!r} + ".new", {file!r})
signal.signal(signal.SIGUSR1, tell)
"""
"""A child that runs this first tells how many tasks are under way in it."""

THREADS = 50  # those that scrapes are written out on come and go, 40 at most


@dataclass(frozen=True)
class Sample:
    """What a coordinator and its Redis hold at one moment, with nobody connected."""

    resident: int
    descriptors: int
    threads: int
    watchers: int
    tasks: int
    keys: int

    @classmethod
    def of(cls, process: CoordinatorProcess, redis: "Redis[bytes]", tasks: Path) -> "Sample":
        folder = Path(f"/proc/{process.pid}")
        status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines() if ":\t" in line)
        return cls(
            resident=1024 * int(status["VmRSS"].split()[0]),
            descriptors=len(list((folder / "fd").iterdir())),
            threads=int(status["Threads"]),
            watchers=watchers(process.url),
            tasks=told(process, tasks),
            keys=redis.dbsize(),
        )


def told(process: CoordinatorProcess, tasks: Path) -> int:
    """How many tasks are under way."""
    tasks.unlink(missing_ok=True)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGUSR1)
    wait_for(tasks.exists, 30)
    return int(tasks.read_text())


def watchers(url: str) -> int:
    """Return the streams and long polls that wait, by the service's own count."""
    metrics = httpx.get(f"{url}/metrics", timeout=60).raise_for_status().text.splitlines()
    return int(sum(float(line.split()[-1]) for line in metrics if line.startswith("lockgate_subscribers")))


async def test_groups_and_readers_that_come_and_go_leave_no_memory_behind(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    tasks = tmp_path / "tasks"
    env = doing_first(tmp_path, TASKS.format(file=str(tasks)))
    with Redis.from_url(redis_server.url) as redis, CoordinatorProcess(redis_server.url, env=env) as process:
        redis.flushall()
        samples = []
        for number in range(SAMPLES):
            await busy(process.url, SECONDS / SAMPLES, seed=number)
            samples.append(Sample.of(process, redis, tasks))
            print(f"{number + 1} of {SAMPLES}: {samples[-1]}", flush=True)
    settled = samples[SAMPLES // 4 :]
    begin, last = settled[: len(settled) // 3], settled[-len(settled) // 3 :]
    assert max(sample.watchers for sample in settled) == 0
    assert max(sample.tasks for sample in last) <= max(sample.tasks for sample in begin) + 4
    assert max(sample.keys for sample in last) <= max(sample.keys for sample in begin) + 2
    assert max(sample.descriptors for sample in last) <= max(sample.descriptors for sample in begin) + 4
    assert max(sample.threads for sample in settled) < THREADS
    assert min(sample.resident for sample in last) <= max(sample.resident for sample in begin) + 4 * MEBIBYTE


async def busy(url: str, seconds: float, seed: int) -> None:
    """Workers that each take one group after the other through its whole life; none of theirs is
    left when this returns.
    """
    until = time.monotonic() + seconds
    workers = (work(url, until, Random(f"{seed}-{number}"), number) for number in range(WORKERS))
    await asyncio.wait_for(asyncio.gather(*workers), seconds + 120)


async def work(url: str, until: float, random: Random, number: int) -> None:
    while time.monotonic() < until:
        async with httpx.AsyncClient(base_url=url, timeout=30) as http:
            await life_of_a_group(http, f"/v1/groups/soak-{number}-{random.randrange(3)}", random)


async def life_of_a_group(http: httpx.AsyncClient, group: str, random: Random) -> None:
    await http.put(group, json=CONFIG)
    followers = [asyncio.create_task(followed(http, group)) for _ in range(3)]
    for round_ in range(20):
        source, subtask = f"{group}/sources/s{random.randrange(3)}", random.randrange(5)
        epoch = (
            await http.post(
                f"{source}/readers", json={"subtask": subtask, "owner": str(random.random()), "takeover": True}
            )
        ).json()["epoch"]
        report = {
            "subtask": subtask,
            "epoch": epoch,
            "watermark": round_ * 1_000,
            "splits": {f"t-{random.randrange(50)}": {"watermark": 1, "state": "active"}},
        }
        event = (await http.post(f"{source}/watermarks", json=report)).json()
        await http.post(f"{source}/watermarks", json={**report, "epoch": epoch - 1})
        await http.post(f"{source}/watermarks", content=b"{")
        await http.get(f"{group}/alignment", params={"after": event["revision"], "wait_ms": random.randrange(30)})
        if random.random() < 0.3:
            await http.delete(f"{source}/readers/{subtask}", params={"epoch": epoch})
    for follower in followers[:2]:
        follower.cancel()  # a reader that is gone from one moment to the next
    await http.delete(group)
    for follower in followers:
        with suppress(asyncio.CancelledError, httpx.HTTPError):
            await follower


async def followed(http: httpx.AsyncClient, group: str) -> None:
    """Until the group ends."""
    async with http.stream("GET", f"{group}/alignment/events") as response:
        async for _ in response.aiter_lines():
            pass
