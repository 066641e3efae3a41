"""A schedule, drawn from a seed: which fault happens when, to whom, and for how long. Pure."""

import random
from dataclasses import dataclass
from enum import Enum

READERS = 3
SPAN_S = 10.0


class Fault(Enum):
    """What happens. A process that is killed is started again at once."""

    KILL = "kill -9 of a reader, and a new process"
    STOP = "SIGSTOP of a reader"
    TAKEN = "SIGSTOP of a reader, whose number another process takes"
    KILL_QUERY = "kill -9 of the query's driver, which restarts from its checkpoint"
    STOP_QUERY = "SIGSTOP of the query's driver"
    JOIN = "one more reader"
    LEAVE = "a reader leaves"
    COORDINATOR = "kill -9 of a coordinator, which comes back"
    STORE = "the store does not answer"
    FLUSH = "the store is emptied"
    FAILOVER = "the store goes on from an older state"
    CLOCK = "the store's clock is put back"
    DELAY = "a network is slow"
    LOSS = "a network loses requests and answers"
    PARTITION = "a network carries nothing"
    DISK = "the disk of a coordinator's history is full"
    SLOW = "a subscriber is slow"
    BROKER = "the partitions have no leader"
    TOKENS = "the token of all clients is rotated"


LOSING = (Fault.FLUSH, Fault.FAILOVER)


@dataclass(frozen=True, slots=True)
class Act:
    """A fault at `at_s`, which lasts for `for_s`. `who`: of several readers or servers."""

    at_s: float
    fault: Fault
    who: int
    for_s: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """`catch_up` and `on_lost_reader` are of the group."""

    seed: int
    acts: tuple[Act, ...]
    catch_up: str
    on_lost_reader: str

    @property
    def loses(self) -> bool:
        """Whether the store loses what it had."""
        return any(act.fault in LOSING for act in self.acts)


def drawn(seed: int) -> Schedule:
    """Draw six to ten faults. All kinds come over some seeds."""
    chance = random.Random(seed)
    acts = sorted(
        (
            Act(
                round(chance.uniform(0.5, SPAN_S), 3),
                chance.choice(list(Fault)),
                chance.randrange(12),
                chance.choice((0.3, 1.0, 3.0, 5.0)),
            )
            for _ in range(chance.randint(6, 10))
        ),
        key=lambda act: act.at_s,
    )
    lost = "hold" if chance.random() < 0.3 else "exclude"
    return Schedule(seed, tuple(acts), chance.choice(("joint", "strict")), lost)
