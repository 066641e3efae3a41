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
from lockgate_testbed.errors import Missing
from lockgate_testbed.link import Link
from support.deaf import Deaf
from support.failing_over import FailingOver
from support.rotated import AS_ADMIN, READ_WITHIN_S, Tokens
from support.small_disk import SmallDisk
from support.stepped import SteppedClock

KEEPS_ALL = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
LOST_S = 0.5
STEPPED_S = 3_600


class Fault(str, Enum):
    """The faults that can happen, besides a task that fails."""

    CLOCK_STEPPED = "the clock of all servers or of all readers is an hour ahead, then right again"
    DISK_FULL = "the disk of Redis is full, or that of the coordinators' histories and of the driver"
    COORDINATOR_KILLED = "a coordinator is killed"
    REDIS_STOPPED = "Redis is stopped"
    REDIS_EMPTIED = "Redis is emptied"
    REDIS_FAILED_OVER = "a replica of Redis is promoted, which lacks the last writes"
    TOKEN_ROTATED = "the token of all clients is rotated"
    SUBSCRIBERS_DEAF = "subscribers do not read their event streams"
    BROKER_KILLED = "a broker is killed, so that partitions change their leader"
    DRIVER_STOPPED = "SIGSTOP of the driver"
    READER_STOPPED = "SIGSTOP of a Python reader"
    DRIVER_KILLED = "kill -9 of the driver"
    READER_KILLED = "kill -9 of a Python reader"
    NETWORK_STOPPED = "a network carries nothing"
    NETWORK_SLOW = "a network is slow"
    NETWORK_RESET = "the connections of a network are reset"


_ALWAYS = (Fault.CLOCK_STEPPED, Fault.DISK_FULL)
_SERVERS = (
    Fault.COORDINATOR_KILLED,
    Fault.REDIS_STOPPED,
    Fault.REDIS_EMPTIED,
    Fault.REDIS_FAILED_OVER,
    Fault.TOKEN_ROTATED,
)
_ONE_OF_EACH = (
    (Fault.SUBSCRIBERS_DEAF,),
    (Fault.BROKER_KILLED,),
    (Fault.DRIVER_STOPPED, Fault.READER_STOPPED),
    (Fault.DRIVER_KILLED, Fault.READER_KILLED),
    (Fault.NETWORK_STOPPED, Fault.NETWORK_SLOW, Fault.NETWORK_RESET),
)
STEPS = len(_ONE_OF_EACH)

Mended = tuple[Callable[[], object], Callable[[], object]]
"""What breaks something, and what mends it."""


@dataclass(frozen=True, slots=True)
class Step:
    """After so many more batches (of all queries) the faults befall one of two at the same time,
    and last so many seconds. The first is one of the servers, the second one of all else.
    """

    faults: tuple[Fault, Fault]
    which: int
    after: int
    lasts_s: float


def schedule(seed: int) -> tuple[tuple[Step, ...], int]:
    """Return pairs of different faults in random order, some shorter and some longer than a lease,
    and a batch in which a task of the driver's fails. Each schedule has a clock step, a full disk,
    deaf subscribers, a change of leaders, a SIGSTOP, a kill -9 and a broken network.
    """
    chance = random.Random(seed)
    servers = [*_ALWAYS, *chance.sample(_SERVERS, STEPS - len(_ALWAYS))]
    others = [chance.choice(each) for each in _ONE_OF_EACH]
    chance.shuffle(servers)
    chance.shuffle(others)
    steps = (
        Step(pair, chance.randrange(2), chance.randint(1, 4), chance.choice((0.3, 2.0, 8.0)))
        for pair in zip(servers, others, strict=True)
    )
    return tuple(steps), chance.randint(1, 6)


class Plant:
    """Inside `with`. `urls`: of the coordinators, through their networks. `folder`: for the tokens,
    and for the histories of all clients. `disks`: of Redis, and of the coordinators' histories with
    room for more. `readers_env`: the environment of Python readers. `left_out`: why faults cannot
    happen on this machine.
    """

    def __init__(self, folder: Path) -> None:
        self.tokens, self.history = Tokens(folder), folder / "history"
        self.disks = [folder / f"disk-{number}" for number in range(2)]
        self.left_out: dict[Fault, str] = {}
        self.readers_env: dict[str, str] = {}
        self._folder = folder
        self._small: list[SmallDisk] = []
        self._clocks: list[SteppedClock] = []
        self._ends = ExitStack()
        self._never = threading.Event()

    def __enter__(self) -> "Plant":
        with ExitStack() as ends:
            try:
                self._small = [ends.enter_context(SmallDisk(each)) for each in self.disks]
            except Missing as missing:
                self.left_out[Fault.DISK_FULL] = str(missing)
            clocks = [self._folder / f"clock-{number}" for number in range(2)]
            for each in (*clocks, *self.disks):
                each.mkdir(exist_ok=True)
            try:
                self._clocks = [SteppedClock(each) for each in clocks]
            except Missing as missing:
                self.left_out[Fault.CLOCK_STEPPED] = str(missing)
            servers_env, self.readers_env = [each.env for each in self._clocks] or [{}, {}]
            self._redis = ends.enter_context(FailingOver(KEEPS_ALL, self.disks[0], servers_env))
            options = ("--history", str(self.disks[1] / "history"), "--tokens", str(self.tokens.of_coordinators))
            self.coordinators = [
                ends.enter_context(CoordinatorProcess(self._redis.url, options=options, env=servers_env))
                for _ in range(2)
            ]
            self._links = [ends.enter_context(Link(int(each.url.rsplit(":", 1)[1]))) for each in self.coordinators]
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    @property
    def histories(self) -> list[Path]:
        """The files of the histories of all processes."""
        return sorted(file for folder in (self.history, self.disks[1] / "history") for file in folder.glob("*.jsonl"))

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{link.port}" for link in self._links]

    def configure(self, group: str, config: Mapping[str, Any]) -> None:
        url = f"{self.coordinators[0].url}/v1/groups/{group}"
        httpx.put(url, json=dict(config), headers=AS_ADMIN).raise_for_status()

    def readers(self, group: str, which: int) -> dict[str, dict[str, Any]]:
        """The first reader of each source, as one of the coordinators has it; none where it does
        not answer.
        """
        answer = httpx.get(f"{self.coordinators[which].url}/v1/groups/{group}", headers=AS_ADMIN, timeout=5)
        sources = answer.json()["sources"] if answer.status_code == 200 else []
        return {source["source"]: source["readers"][0] for source in sources if source["readers"]}

    def befall(self, step: Step, group: str, others: Mapping[Fault, Mended]) -> None:
        """The faults, for their time, until they are mended: that of the servers first, so that a
        process that starts again has the right clock and a disk with space. `others` befall what is
        not of the plant.
        """
        with ExitStack() as ends:
            for fault in reversed(step.faults):
                if fault not in self.left_out:
                    ends.enter_context(self.broken(fault, step.which, group, others))
            self._never.wait(step.lasts_s)

    @contextmanager
    def broken(
        self, fault: Fault, which: int, group: str, others: Mapping[Fault, Mended] | None = None
    ) -> Iterator[None]:
        """One fault, for the time of a `with`."""
        breaks, mends = {**self._faults(which, group), **(others or {})}[fault]
        try:
            breaks()
            yield
        finally:
            mends()

    def redis_time_s(self) -> int:
        """Return the time of Redis's clock, in s since 1970."""
        with Redis.from_url(self._redis.url) as redis:
            return int(redis.time()[0])

    def _faults(self, which: int, group: str) -> dict[Fault, Mended]:
        coordinator, link = self.coordinators[which], self._links[which]
        other = self.coordinators[1 - which]  # this one may be killed meanwhile
        subscribers = Deaf(f"{other.url}/v1/groups/{group}/alignment/events", AS_ADMIN)
        return {
            Fault.CLOCK_STEPPED: (lambda: self._clocks[which].step(STEPPED_S), lambda: self._clocks[which].step(0)),
            Fault.DISK_FULL: (lambda: self._small[which].fill(), lambda: self._free(which)),
            Fault.COORDINATOR_KILLED: (coordinator.kill, coordinator.start),
            Fault.REDIS_STOPPED: (self._redis.stop, self._redis.start),
            Fault.REDIS_EMPTIED: (self._empty, _nothing),
            Fault.REDIS_FAILED_OVER: (lambda: self._redis.fail_over(LOST_S), _nothing),
            Fault.TOKEN_ROTATED: self._rotation(),
            Fault.SUBSCRIBERS_DEAF: (subscribers.__enter__, subscribers.__exit__),
            Fault.NETWORK_STOPPED: (link.stop, link.resume),
            Fault.NETWORK_SLOW: (lambda: link.slow(0.5), link.resume),
            Fault.NETWORK_RESET: (link.reset, _nothing),
        }

    def _rotation(self) -> Mended:
        steps: list[Callable[[], None]] = []

        def begin() -> None:
            first, *others = self.tokens.rotation(0)
            steps.extend(others)
            first()

        return begin, lambda: [self._never.wait(READ_WITHIN_S) or each() for each in steps]

    def _free(self, which: int) -> None:
        self._small[which].free()
        self._redis.start()  # it ends if it cannot append to its file, and a supervisor starts it again

    def _empty(self) -> None:
        with Redis.from_url(self._redis.url) as redis:
            redis.flushall()


def _nothing() -> None:
    """Mend what mends itself."""
