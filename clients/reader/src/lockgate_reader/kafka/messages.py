"""Gets fields of many messages at once, with C functions where possible instead of Python
code for each message.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby, repeat
from typing import Any

from confluent_kafka import Message

from lockgate_reader.place import Key

keys, values = partial(map, Message.key), partial(map, Message.value)


def runs_of(messages: Sequence[Message], topic: str | None) -> list[tuple[Key, int, int]]:
    """Group consecutive messages of the same partition. Return the partition, the start index and
    the end index of each group. `topic` is the topic of all messages; None if there are several.
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
    """Return Kafka's timestamp (ms) of each message; -1 for an error and for a message without
    one.
    """
    return [message.timestamp()[1] for message in messages]


def offsets(messages: Sequence[Any]) -> list[int]:
    """Return the offsets of messages that are all from one partition, in the order of the
    messages.
    """
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # the usual case: no gaps
        return list(range(first, last + 1))
    return [message.offset() for message in messages]
