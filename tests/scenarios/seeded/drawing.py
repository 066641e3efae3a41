"""A scenario for each seed: the seed's number says its class, and all else is drawn by a generator
of that seed. Pure.
"""

from collections.abc import Callable
from random import Random

from seeded.adverse_clocks import ahead, driver_off, growing, in_seconds, slow
from seeded.adverse_logs import counted, left_open, payloads, sliced, two_clusters
from seeded.changes import patterns, restarts
from seeded.cut import slices
from seeded.joins import joined
from seeded.live import lagging, on_time, transactions
from seeded.replays import replay
from seeded.scenario import Kind, Scenario, kind_of

DRAWS: dict[Kind, Callable[[int, Random], Scenario]] = {
    Kind.REPLAY: replay,
    Kind.ON_TIME: on_time,
    Kind.LAGGING: lagging,
    Kind.TRANSACTIONS: transactions,
    Kind.SLICES: slices,
    Kind.PATTERNS: patterns,
    Kind.RESTARTS: restarts,
    Kind.JOINED: joined,
    Kind.PAYLOADS: payloads,
    Kind.SECONDS: in_seconds,
    Kind.DRIVER: driver_off,
    Kind.AHEAD: ahead,
    Kind.CLUSTERS: two_clusters,
    Kind.FIGURES: counted,
    Kind.SLOW: slow,
    Kind.GROWING: growing,
    Kind.OPEN: left_open,
    Kind.SLICED: sliced,
}


def draw(seed: int) -> Scenario:
    """The scenario of a seed, 0 or more."""
    kind = kind_of(seed)
    return DRAWS[kind](seed, Random(f"{kind.value} {seed}"))
