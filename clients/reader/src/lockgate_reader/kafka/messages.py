"""What is taken out of many messages at once. A call of C's for each costs a fraction of a line of
Python.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, repeat
from typing import Any

from confluent_kafka import Message

from lockgate_reader.place import Key


def runs_of(messages: Sequence[Message], topic: str | None) -> list[tuple[Key, int, int]]:
    """Messages of one partition that follow each other: the partition, and from and up to which
    index. `topic`: the one that all are of; None for several.
    """
    numbers: list[Any] = list(map(Message.partition, messages))
    if topic is not None and numbers.count(numbers[0]) == len(numbers):  # the usual case
        return [((topic, numbers[0]), 0, len(numbers))]
    names: Iterable[Any] = repeat(topic) if topic is not None else map(Message.topic, messages)
    runs, start = list[tuple[Key, int, int]](), 0
    for key, run in groupby(zip(names, numbers, strict=False)):
        end = start + sum(1 for _ in run)
        runs.append((key, start, end))
        start = end
    return runs


def timestamps(messages: Sequence[Message]) -> list[int]:
    """Kafka's timestamps, ms; -1 for one without, and for an error."""
    return [message.timestamp()[1] for message in messages]


def offsets(messages: Sequence[Any]) -> list[int]:
    """Return the offsets of messages of one partition, in their order."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # the usual case: no gaps
        return list(range(first, last + 1))
    return [message.offset() for message in messages]


def keys(messages: Sequence[Message]) -> Iterable[Any]:
    """Return the keys: bytes, or None."""
    return map(Message.key, messages)


def values(messages: Sequence[Message]) -> Iterable[Any]:
    """Return the values: bytes, or None."""
    return map(Message.value, messages)
