"""Faults by a seeded schedule, and the plant that they befall: two coordinators on one Redis, each
reached through a network of its own.
"""

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import httpx
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from lockgate_testbed.redis import RedisServer

KEEPS_ALL = ("--appendonly", "yes", "--appendfsync", "always")
STEPS = 5


class Fault(str, Enum):
    """The faults that can happen, besides a task that fails."""

    COORDINATOR_KILLED = "a coordinator is killed"
    REDIS_STOPPED = "Redis is stopped"
    REDIS_EMPTIED = "Redis is emptied"
    NETWORK_STOPPED = "a network carries nothing"
    NETWORK_SLOW = "a network is slow"
    NETWORK_RESET = "the connections of a network are reset"
    DRIVER_KILLED = "the driver is killed"


@dataclass(frozen=True, slots=True)
class Step:
    """After so many more batches (of all queries) `fault` befalls one of two, and lasts so many
    seconds.
    """

    fault: Fault
    which: int
    after: int
    lasts_s: float


def schedule(seed: int) -> tuple[tuple[Step, ...], int]:
    """Different faults in random order, some shorter and some longer than a lease, and a batch in
    which a task of the driver's fails.
    """
    chance = random.Random(seed)
    faults = chance.sample(list(Fault), STEPS)
    steps = (Step(fault, chance.randrange(2), chance.randint(1, 4), chance.choice((0.3, 2.0, 8.0))) for fault in faults)
    return tuple(steps), chance.randint(1, 6)


class Plant:
    """Inside `with`. `urls`: of the coordinators, through their networks."""

    def __init__(self) -> None:
        self._ends = ExitStack()
        self._never = threading.Event()

    def __enter__(self) -> "Plant":
        with ExitStack() as ends:
            self._redis = ends.enter_context(RedisServer(options=KEEPS_ALL))
            self._coordinators = [ends.enter_context(CoordinatorProcess(self._redis.url)) for _ in range(2)]
            self._links = [ends.enter_context(Link(int(each.url.rsplit(":", 1)[1]))) for each in self._coordinators]
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{link.port}" for link in self._links]

    def configure(self, group: str, config: Mapping[str, Any]) -> None:
        httpx.put(f"{self._coordinators[0].url}/v1/groups/{group}", json=dict(config)).raise_for_status()

    def readers(self, group: str, which: int) -> dict[str, dict[str, Any]]:
        """The first reader of each source, as one of the coordinators has it; none where it does
        not answer.
        """
        answer = httpx.get(f"{self._coordinators[which].url}/v1/groups/{group}", timeout=5)
        sources = answer.json()["sources"] if answer.status_code == 200 else []
        return {source["source"]: source["readers"][0] for source in sources if source["readers"]}

    def befall(self, step: Step, driver: Callable[[], object], again: Callable[[], object]) -> None:
        """The fault, for its time, until it is mended; `driver` kills it, `again` starts it."""
        with self._broken(step, driver, again):
            self._never.wait(step.lasts_s)

    @contextmanager
    def _broken(self, step: Step, driver: Callable[[], object], again: Callable[[], object]) -> Iterator[None]:
        coordinator, link = self._coordinators[step.which], self._links[step.which]
        breaks, mends = {
            Fault.COORDINATOR_KILLED: (coordinator.kill, coordinator.start),
            Fault.REDIS_STOPPED: (self._redis.stop, self._redis.start),
            Fault.REDIS_EMPTIED: (self._empty, lambda: None),
            Fault.NETWORK_STOPPED: (link.stop, link.resume),
            Fault.NETWORK_SLOW: (lambda: link.slow(0.5), link.resume),
            Fault.NETWORK_RESET: (link.reset, lambda: None),
            Fault.DRIVER_KILLED: (driver, again),
        }[step.fault]
        breaks()
        try:
            yield
        finally:
            mends()

    def _empty(self) -> None:
        with Redis.from_url(self._redis.url) as redis:
            redis.flushall()
