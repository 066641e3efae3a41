"""The history of a run over a shape, from Spark's own progress and the shape alone. Nothing here
asks lockgate.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.skew.shapes import Shape, Topic

Ends = Mapping[tuple[str, int], int]
"""First unread offset by topic and partition."""


def ends(progress: str) -> Ends:
    """Where a batch ended, read off one `StreamingQueryProgress.json`."""
    found: dict[tuple[str, int], int] = {}
    for source in json.loads(progress)["sources"]:
        offsets: Any = source.get("endOffset")
        topics = json.loads(offsets) if isinstance(offsets, str) else offsets or {}
        found |= {(topic, int(partition)): offset for topic, of in topics.items() for partition, offset in of.items()}
    return found


def drift_ms(shape: Shape, boundary: Ends) -> int:
    """Return the drift (ms, at least 0): the highest event time read of one split, above the lowest
    unread of another.
    """
    splits = list(_splits(shape, boundary))
    drifts = [
        read - unread
        for i, (read, _) in enumerate(splits)
        for j, (_, unread) in enumerate(splits)
        if i != j and read and unread
    ]
    return max([0, *drifts])


def _splits(shape: Shape, boundary: Ends) -> Iterator[tuple[int, int]]:
    """(highest event time read, lowest one unread) of each split; 0 where there is none."""
    for topic in shape.topics:
        for partition, log in enumerate(topic.logs):
            end = boundary.get((topic.name, partition), 0)
            yield int(log[:end].max(initial=0)), int(log[end:].min()) if end < len(log) else 0


def rows_lost(shape: Shape, counted: Mapping[int, int]) -> int:
    """Rows that an exact result has and this one has not. `counted`: by hour. Raises `ValueError`
    where a result has rows too many.
    """
    missing = {hour: rows - counted.get(hour, 0) for hour, rows in shape.expected.items()}
    if min(missing.values()) < 0 or counted.keys() - missing.keys():
        raise ValueError(f"{shape.name}: more rows than there are: {dict(counted)}, not {shape.expected}")
    return sum(missing.values())


def logs_hold(topic: Topic, found: Ends) -> bool:
    """Whether the last boundary is the end of every log: everything was read."""
    return all(
        found.get((topic.name, partition), 0) == len(log) for partition, log in enumerate(topic.logs) if len(log)
    )
