"""Scenarios over several sources of one query: unions, inner joins and outer joins of topics that
are skewed against each other.
"""

from random import Random
from typing import Any

from lockgate_testbed.skew import T0_MS
from seeded.scenario import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    Append,
    Create,
    Finish,
    Kind,
    Operator,
    Query,
    Scenario,
    Send,
    Source,
    Stamp,
    Start,
    in_turn,
)
from seeded.shapes import logs, readable, sends, weave


def joined(seed: int, chance: Random) -> Scenario:
    """Two topics, replayed together: exact, whatever their densities."""
    operator = in_turn(seed, (Operator.INNER, Operator.OUTER, Operator.COUNT))
    delay, span = chance.choice((MINUTE_MS, 5 * MINUTE_MS)), chance.choice((HOUR_MS, 6 * HOUR_MS))
    records, partitions = chance.randint(150, 400), chance.randint(1, 3)
    within = chance.choice((SECOND_MS, MINUTE_MS))
    left = sends("a", logs(chance, records, partitions, span))
    right = (
        _partners(chance, left, within)
        if operator is not Operator.COUNT
        else sends("b", logs(chance, records, 2, span), 10_000)
    )
    batches = chance.randint(3, 5)
    options: list[dict[str, Any]] = [
        {"maxOffsetsPerTrigger": max(10, records // n)} for n in (batches, chance.randint(2, 6))
    ]
    if chance.random() < 0.3:
        options[1] = {}  # all at once, natively
    sources = tuple(Source((topic,), options=each) for topic, each in zip("ab", options, strict=True))
    steps = (*weave(left), *weave(right))
    return Scenario(
        seed=seed,
        kind=Kind.JOINED,
        title=(
            f"{'union, ' if operator is Operator.COUNT else ''}{operator.value}, delay {readable(delay)}, over "
            f"{readable(span)}"
        ),
        query=Query(operator, delay, within, sources),
        acts=(Create("a", partitions), Create("b", 2), Append(steps), Start(), Finish()),
        origin_ms=T0_MS,
    )


def _partners(chance: Random, left: list[Send], within: int) -> list[Send]:
    """For most records of the first topic one in the second, up to `within` later, in two
    partitions of unequal density.
    """
    stamps: list[list[Stamp]] = [[], []]
    for send in left:
        for stamp in send.stamps:
            if chance.random() < 0.8:
                stamps[chance.random() < 0.15].append(
                    Stamp(10_000 + stamp.n, stamp.when + chance.randint(0, within), stamp.n)
                )
    return [Send(0, "b", p, tuple(sorted(of, key=lambda stamp: stamp.when))) for p, of in enumerate(stamps) if of]
