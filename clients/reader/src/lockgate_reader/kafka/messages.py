"""Fields of many messages at once, by functions in C rather than a line of Python for each."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby, repeat
from typing import Any

from confluent_kafka import Message

from lockgate_reader.place import Key

keys, values = partial(map, Message.key), partial(map, Message.value)


def runs_of(messages: Sequence[Message], topic: str | None) -> list[tuple[Key, int, int]]:
    """Group consecutive messages of the same partition: its key, and the indexes of the first
    message and after the last one. `topic` is the topic of all messages; None if there are several.
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
    """Return Kafka's timestamps in ms; -1 for a message without one, and for an error."""
    return [message.timestamp()[1] for message in messages]


def offsets(messages: Sequence[Any]) -> list[int]:
    """Return the offsets of messages, which are all from one partition, in their order."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # the usual case: no gaps
        return list(range(first, last + 1))
    return [message.offset() for message in messages]
