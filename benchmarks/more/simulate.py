"""How long the advisor takes over a large workload: 10,000 splits and 24 hours of event time.

    make bench-simulate
    python -m benchmarks.more.simulate [--splits 10000] [--rounds 3]

Two workloads, each under plain Spark and seven drifts: a backlog that is all there, whose splits
begin and end at different times; and a live day, whose producers lag by up to ten minutes, with a
trigger of a minute. The bar is a minute for a workload.
"""

import argparse
import random
import statistics
import time

from lockgate.simulate.sweep import default_drifts, sweep
from lockgate.simulate.workload import QueryLoad, SplitLoad, Stretch, Workload

MINUTE, HOUR = 60_000, 3_600_000
T0 = 1_767_225_600_000
LAGS = (0, 1_000, 30_000, 120_000, 600_000)


def backlog(count: int, chance: random.Random) -> Workload:
    """Make splits that begin up to 6 hours apart and end up to one."""
    splits = tuple(
        SplitLoad(f"s-{i}", (Stretch(chance.randrange(1_000, 10_000), *_span(chance)),)) for i in range(count)
    )
    return Workload(queries=(_query(splits, budget=500_000),))


def live(count: int, chance: random.Random) -> Workload:
    """Make splits that producers fill while the query runs."""
    splits = tuple(
        SplitLoad(
            f"s-{i}",
            (Stretch(chance.randrange(1_000, 100_000), T0, T0 + 24 * HOUR),),
            chance.choice(LAGS) + chance.randrange(2_000),
        )
        for i in range(count)
    )
    return Workload(queries=(_query(splits, trigger_ms=MINUTE),))


def _span(chance: random.Random) -> tuple[int, int]:
    return T0 + chance.randrange(6 * HOUR), T0 + 24 * HOUR - chance.randrange(HOUR)


def _query(splits: tuple[SplitLoad, ...], budget: int | None = None, trigger_ms: int = 0) -> QueryLoad:
    return QueryLoad(
        name="orders",
        splits=splits,
        records_per_second=200_000.0,
        delay_ms=20 * MINUTE,
        window_ms=HOUR,
        budget=budget,
        trigger_ms=trigger_ms,
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.splits:,} splits, 24 hours\n")
    print("| workload | plans | seconds (least to most) | rows lost by plain Spark |\n|---|---|---|---|")
    for name, made in (("backlog", backlog), ("live", live)):
        seconds, found = list[float](), None
        for seed in range(options.rounds):
            workload = made(options.splits, random.Random(seed))
            began = time.perf_counter()
            found = sweep(workload, default_drifts(workload))
            seconds.append(time.perf_counter() - began)
        assert found is not None
        plans = sum(outcome.batches for outcome in found.aligned)
        spread = f"{statistics.median(seconds):.1f} ({min(seconds):.1f}–{max(seconds):.1f})"
        print(f"| {name} | {plans:,} | {spread} | {found.native.lost:,} of {found.native.rows:,} |", flush=True)


if __name__ == "__main__":
    main()
