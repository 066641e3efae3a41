"""A schedule, drawn from a seed: which fault happens when, and to whom. Pure."""

import random
from dataclasses import dataclass
from enum import Enum

READERS = 3
PARTITIONS = 24
LEASE_MS = 2_000
UPDATE_MS = 200


class Fault(Enum):
    """What happens. A process that is killed is started again at once, as an orchestrator does."""

    KILL = "kill -9, and a new process"
    STOP = "SIGSTOP past the lease"
    PAUSE = "SIGSTOP within the lease"
    JOIN = "one more reader"
    LEAVE = "SIGTERM"
    PARTITIONS = "new partitions"
    COORDINATOR = "the coordinator is killed, and comes back"
    REDIS = "Redis is killed, and comes back"
    FAILOVER = "a replica of Redis is promoted, which lacks the last writes"
    TOKENS = "the token of all readers is rotated"
    PARTITION = "the network to half of the readers carries nothing"
    DELAY = "it is slow"
    RESET = "its connections are reset"


STOPPED_S = {Fault.STOP: 1.4 * LEASE_MS / 1000, Fault.PAUSE: 0.3 * LEASE_MS / 1000}
"""For how long a reader is stopped."""

AWAY_S = (0.0, 0.8)
"""For how long a server is away, from and to."""

NETWORK_S = 4.0
"""How much longer a network is broken."""

_ONCE = (Fault.JOIN, Fault.LEAVE, Fault.PARTITIONS, Fault.TOKENS)


@dataclass(frozen=True, slots=True)
class Act:
    """A fault at `at_s`. `who`: the reader's place, from 0. `for_s`: how long a server
    is away.
    """

    at_s: float
    fault: Fault
    who: int = 0
    for_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """`keeps`: whether Redis keeps its data over a restart. `catch_up`: of the group."""

    seed: int
    acts: tuple[Act, ...]
    keeps: bool
    catch_up: str

    @property
    def loses(self) -> bool:
        """Whether the store loses what it had."""
        losing = {Fault.FAILOVER} if self.keeps else {Fault.FAILOVER, Fault.REDIS}
        return any(act.fault in losing for act in self.acts)


SPAN_S = 4.0


def drawn(seed: int, span_s: float = SPAN_S) -> Schedule:
    """Five or six faults within `span_s`. All kinds come over some seeds."""
    chance = random.Random(seed)
    count = chance.randint(5, 6)
    kinds: list[Fault] = []
    while len(kinds) < count:
        kind = chance.choice(list(Fault))
        if kind not in _ONCE or kind not in kinds:
            kinds.append(kind)
    times = sorted(chance.uniform(0.2, span_s) for _ in kinds)
    acts = tuple(
        Act(round(at, 3), kind, chance.randrange(READERS), round(chance.uniform(*AWAY_S), 3))
        for at, kind in zip(times, kinds, strict=True)
    )
    return Schedule(seed, acts, keeps=chance.random() < 0.7, catch_up=chance.choice(["joint", "strict"]))
