"""Scenarios whose batches are cut where windows end: a slice that is called complete has all rows
that its windows ever had.
"""

from random import Random
from typing import Any

from lockgate_testbed.skew import T0_MS
from seeded.feeds import Numbers, backlog, interval, steadily
from seeded.scenario import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    Act,
    Append,
    Batches,
    Create,
    Finish,
    Kind,
    Operator,
    Query,
    Scenario,
    Settle,
    Source,
    Start,
    Stop,
    Trim,
    in_turn,
)
from seeded.shapes import disordered, readable, sends, weave

WAYS = (
    "from the beginning",
    "from the beginning",
    "from a timestamp",
    "from offsets",
    "behind a retention",
    "overtaken by retention",
    "live",
)


def slices(seed: int, chance: Random) -> Scenario:
    """A backfill in whole windows, wherever it begins, or live windows of some seconds."""
    way = in_turn(seed, WAYS)
    return _live(seed, chance) if way == "live" else _backfill(seed, chance, way)


def _backfill(seed: int, chance: Random, way: str) -> Scenario:
    window = chance.choice((MINUTE_MS, 10 * MINUTE_MS, HOUR_MS))
    partitions, records, count = chance.randint(1, 4), chance.randint(200, 800), chance.randint(4, 10)
    span, disorder = count * window, chance.choice((0, 0, window // 20))
    made = [
        disordered(chance, sorted(chance.randrange(span) for _ in range(max(2, records // partitions))), disorder)
        for _ in range(partitions)
    ]
    splits = sends("a", made)
    options: dict[str, Any] = {
        "maxOffsetsPerTrigger": max(20, records // chance.randint(2, 4)),
        "failOnDataLoss": "false",
    }
    acts: list[Act] = [Create("a", partitions), Append(tuple(weave(splits)))]
    cut = int(span * chance.uniform(0.1, 0.5))
    if way == "from a timestamp":
        options |= {
            "startingOffsets": None,
            "startingTimestamp": T0_MS + cut,
            "startingOffsetsByTimestampStrategy": "latest",
        }
    elif way == "from offsets":
        options["startingOffsets"] = {"a": {str(p): sum(t < cut for t in times) for p, times in enumerate(made)}}
    elif "retention" in way:
        if way.startswith("overtaken"):
            acts += [Start(0), Batches(1), Stop()]
            cut = int(span * chance.uniform(0.5, 0.9))
        for send in chance.sample(splits, chance.randint(1, len(splits))):
            kept = next((place for place, stamp in enumerate(send.stamps) if stamp.when >= cut), None)
            if kept is not None:
                acts.append(Trim("a", send.partition, send.stamps[kept].n))
    alignment: dict[str, Any] = {"slice": window}
    if disorder:
        alignment |= {"max_out_of_orderness": disorder, "max_drift": window}
    return Scenario(
        seed=seed,
        kind=Kind.SLICES,
        title=f"slices of {readable(window)}, {way}; {partitions} partitions over {readable(span)}",
        query=Query(Operator.ROWS, 0, window, (Source(("a",), options=options),), alignment),
        acts=(*acts, Start(), Finish()),
        origin_ms=T0_MS,
        whole=way == "from the beginning",
    )


def _live(seed: int, chance: Random) -> Scenario:
    numbers, partitions = Numbers(), chance.randint(1, 3)
    every = chance.randint(60, 200)
    window, idle = chance.choice((SECOND_MS, 2 * SECOND_MS)), chance.choice((SECOND_MS, 2 * SECOND_MS))
    history = Append(tuple(backlog(numbers, "a", p, 20 * SECOND_MS, 1, 250) for p in range(partitions)))
    live = Append(
        tuple(s for p in range(partitions) for s in steadily(numbers, "a", p, every, 200, 0, 5_000)), paced=True
    )
    return Scenario(
        seed=seed,
        kind=Kind.SLICES,
        title=f"slices of {readable(window)}, live, idle_timeout {readable(idle)}; {partitions} partitions",
        query=Query(Operator.ROWS, 0, window, (Source(("a",)),), {"slice": window, "idle_timeout": idle}),
        acts=(Create("a", partitions), history, Start(interval(chance)), live, Settle(4.0), Stop()),
    )
