"""Producers by the clock, as pure functions: when each sends, and how far behind."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from seeded.scenario import SECOND_MS, End, Send, Stamp

FEED_MS = 10 * SECOND_MS


@dataclass(slots=True)
class Numbers:
    """Gives each record its number."""

    last: int = -1

    def take(self) -> int:
        """The next one."""
        self.last += 1
        return self.last


def steadily(
    numbers: Numbers,
    topic: str,
    partition: int,
    every_ms: int,
    behind_ms: int,
    begin_ms: int = 0,
    end_ms: int = FEED_MS,
) -> Iterator[Send]:
    """A record each so many ms, stamped so much behind the clock."""
    for at in range(begin_ms, end_ms, every_ms):
        yield Send(at, topic, partition, (Stamp(numbers.take(), behind_ms),))


def backlog(
    numbers: Numbers, topic: str, partition: int, since_ms: int, until_ms: int, every_ms: int, at_ms: int = 0
) -> Send:
    """One append: records of then (ms behind the clock) to then."""
    stamps = tuple(Stamp(numbers.take(), when) for when in range(since_ms, until_ms - 1, -every_ms))
    return Send(at_ms, topic, partition, stamps)


def in_transactions(
    chance: Random,
    numbers: Numbers,
    topic: str,
    partition: int,
    commit_ms: int,
    behind_ms: int,
    until_ms: int = FEED_MS,
) -> Iterator[Send | End]:
    """A record each 200 ms, and a commit each `commit_ms`, or an abort; some transactions stay open
    for three times as long.
    """
    producer, at = f"{topic}-{partition}", 0
    while at < until_ms:
        length = commit_ms * chance.choice((1, 1, 1, 1, 3))
        for send in steadily(numbers, topic, partition, 200, behind_ms, at, at + length - 150):
            yield Send(send.at_ms, topic, partition, send.stamps, producer)
        yield End(at + length - 100, producer, commits=chance.random() < 0.8)
        at += length


def interval(chance: Random) -> int:
    """The interval of a live query's trigger, ms."""
    return chance.choice((0, 0, 500, 1_000))
