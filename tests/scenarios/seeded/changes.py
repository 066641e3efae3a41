"""Scenarios in which something changes: topics come and go, queries stop, fail and start anew,
alignment is put on and taken off.
"""

from random import Random
from typing import Any

from lockgate_testbed.skew import T0_MS
from seeded.feeds import Numbers, backlog, interval, steadily
from seeded.live import COUNTED
from seeded.scenario import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    Act,
    Append,
    Batches,
    Create,
    Drop,
    Finish,
    Kind,
    Operator,
    Pass,
    Query,
    Scenario,
    Settle,
    Source,
    Start,
    Stop,
    Trim,
    Warm,
    Widen,
)
from seeded.shapes import logs, part, readable, sends, weave

IS_SEEN_S = (
    # what a live query is to have read by, however busy the machine: Spark looks for new topics
    # batch by batch
    25.0
)


def patterns(seed: int, chance: Random) -> Scenario:
    """A pattern that matches nothing at first, alone or beside another source; topics and
    partitions that are added, and topics that go.
    """
    numbers, delay = Numbers(), chance.choice((5 * SECOND_MS, 2 * MINUTE_MS))
    every = chance.randint(70, 200)
    beside, goes = chance.random() < 0.4, chance.random() < 0.4
    acts: list[Act] = [Create("a", 1), Append((backlog(numbers, "a", 0, 20 * SECOND_MS, 1, 500),))] if beside else []
    acts += [Start(interval(chance)), Pass(1.5), Create("x1", chance.randint(1, 2))]
    said = ["nothing at first", "beside another source" if beside else "alone"]

    def feed(*splits: tuple[str, int]) -> None:
        live = [send for split in splits for send in steadily(numbers, *split, every, 20, 0, 1_500)]
        live += steadily(numbers, "a", 0, every, 20, 0, 1_500) if beside else ()
        acts.extend((Append(tuple(live), paced=True), Settle(IS_SEEN_S, reads_all=True)))

    feed(("x1", 0))
    if chance.random() < 0.5:
        said.append("one gets more partitions")
        acts.append(Widen("x1", 3))
        feed(("x1", 0), ("x1", 2))
    if chance.random() < 0.5:
        said.append("a second one comes")
        acts.append(Create("x2", 1))
        feed(("x1", 0), ("x2", 0))
    if goes:
        said.append("all go, and another one comes")
        acts += [
            Drop(tuple(act.topic for act in acts if isinstance(act, Create) and act.topic != "a")),
            Pass(1.5),
            Create("x3", 2),
        ]
        feed(("x3", 1))
    lossy = {"failOnDataLoss": "false"} if goes else {}
    sources = (Source(pattern="x.*", options=lossy), *([Source(("a",), options=lossy)] if beside else []))
    return Scenario(
        seed=seed,
        kind=Kind.PATTERNS,
        title=f"a pattern that matches {', '.join(said)}; delay {readable(delay)}",
        query=Query(chance.choice((*COUNTED, Operator.ROWS)), delay, SECOND_MS, sources),
        acts=(*acts, Stop()),
    )


def restarts(seed: int, chance: Random) -> Scenario:
    """A replay in several runs, or a live query that is away for a moment."""
    return _live_restart(seed, chance) if chance.random() < 0.3 else _replay_in_runs(seed, chance)


def _live_restart(seed: int, chance: Random) -> Scenario:
    numbers, partitions = Numbers(), chance.randint(2, 3)
    every = chance.randint(60, 200)
    delay, away = chance.choice((2 * SECOND_MS, 10 * SECOND_MS)), chance.choice((SECOND_MS, 3 * SECOND_MS))

    def feed(lasts: int) -> Append:
        return Append(
            tuple(s for p in range(partitions) for s in steadily(numbers, "a", p, every, 20, 0, lasts)), paced=True
        )

    start = Start(interval(chance))
    history = Append(tuple(backlog(numbers, "a", p, 20 * SECOND_MS, 1, 500) for p in range(partitions)))
    return Scenario(
        seed=seed,
        kind=Kind.RESTARTS,
        title=f"live, away for {readable(away)}, delay {readable(delay)}, {partitions} partitions",
        query=Query(chance.choice(COUNTED), delay, SECOND_MS, (Source(("a",)),)),
        acts=(
            Create("a", partitions),
            history,
            start,
            Warm(),
            feed(2_500),
            Stop(),
            feed(away),
            start,
            feed(2_500),
            Settle(IS_SEEN_S, reads_all=True),
            Stop(),
        ),
    )


def _replay_in_runs(seed: int, chance: Random) -> Scenario:
    partitions, records, span = chance.randint(2, 4), chance.randint(200, 500), chance.choice((HOUR_MS, 12 * HOUR_MS))
    delay = chance.choice((MINUTE_MS, 10 * MINUTE_MS))
    trims = chance.random() < 0.3
    operator = Operator.DEDUP if trims else chance.choice((*COUNTED, *COUNTED, Operator.PROCESSOR))
    natively = not trims and chance.random() < 0.4
    made = logs(chance, records, partitions, span)
    parts = sends("a", made)
    # all of it is there, or the second half comes between the runs
    half = chance.choice((span, span // 2))
    first, second = part(parts, 0, half), part(parts, half, span + 1)
    options: dict[str, Any] = {"maxOffsetsPerTrigger": max(10, records // chance.randint(5, 8))}
    acts: list[Act] = [Create("a", partitions), Append(tuple(weave(first)))]
    said = []
    for turn in range(2):
        aligned = not natively or turn == 0
        way = chance.choice(("stopped", "failing", "failing behind its write"))
        said.append(f"{way}{'' if aligned else ', native'}")
        if way == "stopped":
            acts += [Start(0, aligned), Batches(chance.randint(1, 2)), Stop()]
        else:
            acts += [Start(None, aligned, chance.randint(1, 2), way.endswith("write")), Finish(reads_all=False)]
    if trims:
        options["failOnDataLoss"] = "false"
        send = chance.choice(parts)
        acts.append(Trim("a", send.partition, send.stamps[len(send.stamps) // 2].n))
        said.append("records deleted in between")
    if second:
        acts.append(Append(tuple(weave(second))))
        said.append("more comes")
    return Scenario(
        seed=seed,
        kind=Kind.RESTARTS,
        title=f"replay: {'; '.join(said)}; delay {readable(delay)}, {partitions} partitions over {readable(span)}",
        query=Query(operator, delay, chance.choice((SECOND_MS, MINUTE_MS)), (Source(("a",), options=options),)),
        acts=(*acts, Start(), Finish()),
        origin_ms=T0_MS,
    )
