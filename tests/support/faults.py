"""Faults by a seeded schedule, and the plant that they befall: two coordinators on one Redis, each
reached through a network of its own.
"""

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import httpx
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from support.failing_over import FailingOver
from support.rotated import AS_ADMIN, READ_WITHIN_S, Tokens

KEEPS_ALL = ("--appendonly", "yes", "--appendfsync", "always")
STEPS = 5
LOST_S = 0.5


class Fault(str, Enum):
    """The faults that can happen, besides a task that fails."""

    COORDINATOR_KILLED = "a coordinator is killed"
    REDIS_STOPPED = "Redis is stopped"
    REDIS_EMPTIED = "Redis is emptied"
    NETWORK_STOPPED = "a network carries nothing"
    NETWORK_SLOW = "a network is slow"
    NETWORK_RESET = "the connections of a network are reset"
    DRIVER_KILLED = "the driver is killed"
    REDIS_FAILED_OVER = "a replica of Redis is promoted, which lacks the last writes"
    TOKEN_ROTATED = "the token of all clients is rotated"


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
    """Inside `with`. `urls`: of the coordinators, through their networks. `folder`: for the tokens,
    and for the histories of all processes.
    """

    def __init__(self, folder: Path) -> None:
        self.tokens, self.history = Tokens(folder), folder / "history"
        self._ends = ExitStack()
        self._never = threading.Event()

    def __enter__(self) -> "Plant":
        with ExitStack() as ends:
            self._redis = ends.enter_context(FailingOver(KEEPS_ALL))
            options = ("--history", str(self.history), "--tokens", str(self.tokens.of_coordinators))
            self._coordinators = [
                ends.enter_context(CoordinatorProcess(self._redis.url, options=options)) for _ in range(2)
            ]
            self._links = [ends.enter_context(Link(int(each.url.rsplit(":", 1)[1]))) for each in self._coordinators]
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{link.port}" for link in self._links]

    def configure(self, group: str, config: Mapping[str, Any]) -> None:
        url = f"{self._coordinators[0].url}/v1/groups/{group}"
        httpx.put(url, json=dict(config), headers=AS_ADMIN).raise_for_status()

    def readers(self, group: str, which: int) -> dict[str, dict[str, Any]]:
        """The first reader of each source, as one of the coordinators has it; none where it does
        not answer.
        """
        answer = httpx.get(f"{self._coordinators[which].url}/v1/groups/{group}", headers=AS_ADMIN, timeout=5)
        sources = answer.json()["sources"] if answer.status_code == 200 else []
        return {source["source"]: source["readers"][0] for source in sources if source["readers"]}

    def befall(self, step: Step, driver: Callable[[], object], again: Callable[[], object]) -> None:
        """The fault, for its time, until it is mended; `driver` kills it, `again` starts it."""
        with self._broken(step, driver, again):
            self._never.wait(step.lasts_s)

    @contextmanager
    def _broken(self, step: Step, driver: Callable[[], object], again: Callable[[], object]) -> Iterator[None]:
        coordinator, link = self._coordinators[step.which], self._links[step.which]
        first, *others = self.tokens.rotation(0) if step.fault is Fault.TOKEN_ROTATED else [lambda: None]
        breaks, mends = {
            Fault.COORDINATOR_KILLED: (coordinator.kill, coordinator.start),
            Fault.REDIS_STOPPED: (self._redis.stop, self._redis.start),
            Fault.REDIS_EMPTIED: (self._empty, lambda: None),
            Fault.NETWORK_STOPPED: (link.stop, link.resume),
            Fault.NETWORK_SLOW: (lambda: link.slow(0.5), link.resume),
            Fault.NETWORK_RESET: (link.reset, lambda: None),
            Fault.DRIVER_KILLED: (driver, again),
            Fault.REDIS_FAILED_OVER: (lambda: self._redis.fail_over(LOST_S), lambda: None),
            Fault.TOKEN_ROTATED: (first, lambda: [self._never.wait(READ_WITHIN_S) or each() for each in others]),
        }[step.fault]
        breaks()
        try:
            yield
        finally:
            mends()

    def _empty(self) -> None:
        with Redis.from_url(self._redis.url) as redis:
            redis.flushall()
