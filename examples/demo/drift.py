"""The drift in event time: pure arithmetic over offsets, and over the topic's specification, which
knows the event time of each.

**Within a query**, at the end of a batch: the highest event time of the last record read minus the
lowest, over the splits that were read from and have something left. The formula is the same for
runs of plain Spark and aligned ones, and uses nothing that alignment claims.

**Between two queries**, at the moment one makes a plan: its target minus the position of the other.
The position is the event time of the other's first unread record − 1, after the last batch that it
had completed by then. The drift is 0 if that is negative or nothing is left to the other.
"""

import bisect
from collections.abc import Iterable, Mapping, Sequence

from examples.demo.history import Batch

from lockgate_spark import BatchAlignment
from lockgate_testbed.skew import SkewedTopic


def last_read(topic: SkewedTopic, ends: Mapping[int, int]) -> dict[int, int]:
    """Event time (ms) of the last record read of each partition that was read from. `ends`: first
    unread offsets.
    """
    return {partition: topic.event_time(partition, end - 1) for partition, end in ends.items() if end > 0}


def boundary_drift(topic: SkewedTopic, ends: Mapping[int, int]) -> int:
    """Return the drift (ms) at the end of a batch."""
    counts = topic.counts()
    times = [time for partition, time in last_read(topic, ends).items() if ends[partition] < counts[partition]]
    return max(times) - min(times) if times else 0


def peak_drift(topic: SkewedTopic, batches: Iterable[Batch]) -> int:
    """Return the greatest drift (ms) at the end of any batch."""
    return max((boundary_drift(topic, batch.ends) for batch in batches), default=0)


def position(topic: SkewedTopic, ends: Mapping[int, int]) -> int | None:
    """Event time (ms) of the first unread record − 1; None when all is read. A partition that
    `ends` leaves out is unread.
    """
    unread = [
        topic.event_time(partition, ends.get(partition, 0))
        for partition, count in enumerate(topic.counts())
        if ends.get(partition, 0) < count
    ]
    return min(unread) - 1 if unread else None


def positions(topic: SkewedTopic, batches: Sequence[Batch]) -> list[tuple[float, int | None]]:
    """(wall clock in s, position) after each completed batch, in order."""
    return [(batch.ended_at, position(topic, batch.ends)) for batch in batches]


def leads(topic: SkewedTopic, plans: Iterable[BatchAlignment], other: Sequence[Batch]) -> list[tuple[float, int]]:
    """(wall clock in s, drift in ms) of each plan that was made while the other query had records
    left. The drift is how far the plan is ahead of that query, 0 or more.
    """
    known = positions(topic, other)
    times, start = [at for at, _ in known], position(topic, {})
    found = []
    for plan in plans:
        completed = bisect.bisect_right(times, plan.planned_at)
        stands_at = known[completed - 1][1] if completed else start
        if stands_at is not None:
            found.append((plan.planned_at, max(0, plan.target - stands_at)))
    return found


def peak_lead(topic: SkewedTopic, plans: Iterable[BatchAlignment], other: Sequence[Batch]) -> int:
    """How far (ms) any of the plans was ahead of the other query."""
    return max((ahead for _, ahead in leads(topic, plans, other)), default=0)
