"""A scenario for each seed: `seed % len(Kind)` is its class, and all else is drawn by a generator
of that seed. Pure.
"""

from collections.abc import Callable
from random import Random

from seeded.changes import patterns, restarts
from seeded.cut import slices
from seeded.joins import joined
from seeded.live import lagging, on_time, transactions
from seeded.replays import replay
from seeded.scenario import Kind, Scenario

DRAWS: dict[Kind, Callable[[int, Random], Scenario]] = {
    Kind.REPLAY: replay,
    Kind.ON_TIME: on_time,
    Kind.LAGGING: lagging,
    Kind.TRANSACTIONS: transactions,
    Kind.SLICES: slices,
    Kind.PATTERNS: patterns,
    Kind.RESTARTS: restarts,
    Kind.JOINED: joined,
}


def draw(seed: int) -> Scenario:
    """The scenario of a seed, 0 or more."""
    kind = list(Kind)[seed % len(Kind)]
    return DRAWS[kind](seed, Random(f"{kind.value} {seed}"))
