"""Gets fields of many messages at once, with C functions instead of Python code per message."""

import gc
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby, repeat
from typing import Any

from confluent_kafka import Message

from lockgate_reader.place import Key

keys, values = partial(map, Message.key), partial(map, Message.value)


class Collections:
    """Prevents most of the garbage collections in which Python scans fetched records that were not
    returned yet.

    Python starts a collection when there are some 700 new objects, such as records. Every eleventh
    one also scans older objects, which takes a quarter of the time while many records wait
    (docs/internals/benchmarks.md). So if the next messages would start a collection, `before` scans
    only the new objects. Every `LEFT_TO_PYTHON`-th time, it leaves the collection to Python.
    """

    LEFT_TO_PYTHON = 50

    def __init__(self) -> None:
        # Without the GIL, Python has no collections of new objects only.
        self._can = getattr(sys, "_is_gil_enabled", lambda: True)()
        self._saved = 0

    def before(self, messages: int) -> None:
        if gc.get_count()[0] + messages > gc.get_threshold()[0] > 0 and self._can and gc.isenabled():
            self._saved = (self._saved + 1) % self.LEFT_TO_PYTHON
            if self._saved:
                gc.collect(0)


def runs_of(messages: Sequence[Message], topic: str | None) -> list[tuple[Key, int, int]]:
    """Return each run of messages of one partition, with the run's start and end index. `topic` is
    the topic of all messages; None if there are several.
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
    """Return Kafka's timestamp (ms) of each message; -1 for an error, or if there is none."""
    return [time for _, time in map(Message.timestamp, messages)]


def offsets(messages: Sequence[Any]) -> list[int]:
    """Return the offsets of `messages`, which are all from one partition."""
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:  # the usual case: no gaps
        return list(range(first, last + 1))
    return [message.offset() for message in messages]
