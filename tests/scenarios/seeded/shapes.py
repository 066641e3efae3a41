"""Shapes of topics, as pure functions of a generator: when the records of each partition happened,
and in which order they lie.
"""

from dataclasses import replace
from random import Random

from seeded.scenario import Send, Stamp


def spread(chance: Random, count: int, begin: int, end: int) -> list[int]:
    """Event times in order: even, random, in bursts, or with a gap of a third."""
    length = end - begin
    way = chance.choice(("even", "random", "bursts", "gap"))
    if way == "even":
        return [begin + length * n // count for n in range(count)]
    if way == "bursts":
        centres = [chance.uniform(begin, end) for _ in range(max(1, count // 25))]
        return sorted(
            min(end, max(begin, int(chance.gauss(chance.choice(centres), length / 200)))) for _ in range(count)
        )
    times = sorted(chance.randrange(begin, end) for _ in range(count))
    if way == "gap":
        hole = begin + length // 3
        times = sorted(t if t < hole else max(t, begin + 2 * length // 3) for t in times)
    return times


def logs(chance: Random, records: int, partitions: int, span: int) -> list[list[int]]:
    """Event times (ms from 0 to `span`) by partition, in order: of unequal density, some late or
    ended early, at times one empty.
    """
    weights = [chance.choice((1, 1, 2, 4, 8, 16)) for _ in range(partitions)]
    found = []
    for weight in weights:
        begin, end = 0, span
        fate = chance.random()
        if fate < 0.25:
            begin = int(span * chance.uniform(0.1, 0.6))
        elif fate < 0.4:
            end = int(span * chance.uniform(0.4, 0.9))
        found.append(spread(chance, max(1, records * weight // sum(weights)), begin, end))
    if partitions > 2 and chance.random() < 0.3:
        found[chance.randrange(partitions)] = []
    return found


def disordered(chance: Random, times: list[int], by: int) -> list[int]:
    """The same times, no record further than `by` ms behind one before it."""
    return [t for _, t in sorted((t + chance.uniform(0, by), t) for t in times)] if by else times


def sends(topic: str, logs: list[list[int]], first: int = 0, repeats: frozenset[int] = frozenset()) -> list[Send]:
    """All of it at once, numbered from `first` on, partition by partition. `repeats`: numbers that
    their producer sends twice.
    """
    found, n = [], first
    for partition, times in enumerate(logs):
        stamps: list[Stamp] = []
        for when in times:
            stamps += [Stamp(n, when)] * (2 if n in repeats else 1)
            n += 1
        if stamps:
            found.append(Send(0, topic, partition, tuple(stamps)))
    return found


def weave(splits: list[Send], every: int = 100) -> list[Send]:
    """The same records, the partitions grown together."""
    parts = []
    for n in range(0, max((len(send.stamps) for send in splits), default=0), every):
        parts += [
            Send(0, send.topic, send.partition, send.stamps[n : n + every])
            for send in splits
            if send.stamps[n : n + every]
        ]
    return parts


def part(sends: list[Send], begin: int, end: int) -> list[Send]:
    """Those of their records that happened from `begin` to `end` (exclusive)."""
    parts = (replace(s, stamps=tuple(stamp for stamp in s.stamps if begin <= stamp.when < end)) for s in sends)
    return [send for send in parts if send.stamps]


def readable(ms: int) -> str:
    """A duration for a title."""
    for unit, size in (("h", 3_600_000), ("min", 60_000), ("s", 1_000)):
        if ms >= size and ms % (size // 10) == 0:
            return f"{ms / size:g} {unit}"
    return f"{ms} ms"
