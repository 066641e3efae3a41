"""Scenarios over logs that lie there when the query begins: replays, and backfills that are cut at
windows.
"""

from random import Random
from typing import Any

from lockgate_testbed.skew import T0_MS
from seeded.scenario import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    Act,
    Append,
    Create,
    Finish,
    Kind,
    Operator,
    Query,
    Scenario,
    Source,
    Start,
    Trim,
    in_turn,
)
from seeded.shapes import disordered, logs, readable, sends, weave

BATCHES = (3, 6)  # that a replay takes, about


def replay(seed: int, chance: Random) -> Scenario:
    """A day of skew, one query, one run: exact, whatever the shape."""
    partitions, records = chance.randint(2, 6), chance.randint(200, 900)
    span = chance.choice((HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS))
    operator = in_turn(seed, (Operator.COUNT, Operator.DEDUP, Operator.SESSION, Operator.COUNT, Operator.PROCESSOR))
    delay = chance.choice((30 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS))
    disorder = chance.choice((0, 0, delay // 4))
    in_payload = chance.random() < 0.25
    made = [disordered(chance, times, disorder) for times in logs(chance, records, partitions, span)]
    repeats = (
        frozenset(chance.sample(range(records), records // 20))
        if operator in (Operator.DEDUP, Operator.PROCESSOR)
        else frozenset()
    )
    alignment: dict[str, Any] = {}
    if disorder:
        alignment["max_out_of_orderness"] = disorder
    if disorder or chance.random() < 0.4:
        alignment["max_drift"] = (
            chance.choice((delay // 2, delay - disorder)) if disorder else chance.choice((delay // 4, delay))
        )
    options: dict[str, Any] = {"maxOffsetsPerTrigger": max(10, records // chance.randint(*BATCHES))}
    if chance.random() < 0.2:
        options["minPartitions"] = partitions * 2
    if chance.random() < 0.2:
        options["kafka.isolation.level"] = "read_committed"
    size = (
        chance.choice((10 * SECOND_MS, MINUTE_MS))
        if operator is Operator.SESSION
        else chance.choice((SECOND_MS, MINUTE_MS))
    )
    begins = chance.choice(("", "", "", "", ", from a timestamp", ", behind a retention"))
    splits = sends("a", made, repeats=repeats)
    trims: list[Act] = []
    # Kafka's own timestamps are the clock's there
    if begins.endswith("timestamp") and not in_payload:
        options |= {
            "startingOffsets": None,
            "startingTimestamp": T0_MS + span // 4,
            "startingOffsetsByTimestampStrategy": "latest",
        }
    elif begins:
        trims = [Trim("a", send.partition, send.stamps[len(send.stamps) // 3].n) for send in chance.sample(splits, 1)]
    return Scenario(
        seed=seed,
        kind=Kind.REPLAY,
        title=_title(operator, delay, alignment, f"{partitions} partitions over {readable(span)}{begins}", in_payload),
        query=Query(operator, delay, size, (Source(("a",), options=options),), alignment, in_payload),
        acts=(Create("a", partitions), Append(tuple(weave(splits))), *trims, Start(), Finish()),
        origin_ms=T0_MS,
    )


def _title(operator: Operator, delay: int, alignment: dict[str, Any], feed: str, in_payload: bool) -> str:
    said = ", ".join(f"{name} {readable(value)}" for name, value in alignment.items()) or "nothing set"
    return (
        f"{operator.value}, delay {readable(delay)}, {said}; "
        f"{feed}{'; event time in the payload' if in_payload else ''}"
    )
