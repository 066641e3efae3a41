"""What a run read and when, and the figures that follow, by one definition for Spark and Flink."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from benchmarks.skew.shapes import JOIN_WITHIN_MS, Shape, Times, Topic
from lockgate_testbed.skew import HOUR_MS, T0_MS

Numbers = npt.NDArray[np.int64]
Seconds = npt.NDArray[np.float64]
NOTHING, ALL = T0_MS - 10**12, T0_MS + 10**12
"""Event times below and above all: of a log of which nothing is read, or nothing unread."""


@dataclass(frozen=True)
class Trace:
    """Samples of a run: one at the end of each batch of Spark, one each 2 ms of Flink.

    `clock_s`, `processor_s`: seconds, and those of processor time. `watermark_ms`: windows that end
    at it or before are closed. `ends`: the next offset of each partition, topic by topic.
    """

    shape: Shape
    clock_s: Seconds
    processor_s: Seconds
    watermark_ms: Numbers
    ends: Numbers

    @property
    def logs(self) -> list[Times]:
        """Of all partitions, topic by topic."""
        return [log for topic in self.shape.topics for log in topic.logs]

    @property
    def whole(self) -> bool:
        """Whether everything was read."""
        return bool((self.ends[-1] == [len(log) for log in self.logs]).all())

    @cached_property
    def highest(self) -> list[Times]:
        """The highest event time up to each offset."""
        return [np.maximum.accumulate(np.concatenate([[NOTHING], log])) for log in self.logs]

    @cached_property
    def read(self) -> Numbers:
        """The highest event time read of each partition."""
        return self._at(self.highest)

    @cached_property
    def unread(self) -> Numbers:
        """The lowest event time unread of each partition."""
        return self._at([np.minimum.accumulate(np.concatenate([[ALL], log[::-1]]))[::-1] for log in self.logs])

    @cached_property
    def behind(self) -> Numbers:
        """The lowest event time unread of the other partitions, by partition."""
        two = np.partition(self.unread, 1, axis=1)
        return np.where(self.unread == two[:, :1], two[:, 1:2], two[:, :1])

    def _at(self, times: Sequence[Times]) -> Numbers:
        return np.stack([times[n][self.ends[:, n]] for n in range(len(times))], axis=1)

    @property
    def drift_ms(self) -> int:
        """By how much the highest event time read was above the lowest unread of another partition,
        at most.
        """
        return max(0, int((self.read - self.behind).max()))

    def beyond(self, max_drift_ms: int) -> int:
        """Count records that were more than the drift above what was unread of another partition
        when their batch, or 2 ms, were over.
        """
        before = np.concatenate([np.zeros_like(self.ends[:1]), self.ends[:-1]])
        allowed = [
            np.searchsorted(highest[1:], self.behind[:, n] + max_drift_ms, side="right")
            for n, highest in enumerate(self.highest)
        ]
        return int(np.maximum(0, self.ends - np.maximum(before, np.stack(allowed, axis=1))).sum())

    @property
    def open_rows(self) -> int:
        """Rows read that windows or the join had to keep, at most."""
        done = [each for topic, each in _done_ms(self.shape, self.watermark_ms) for _ in topic.logs]
        closed = [np.searchsorted(highest[1:], each) for highest, each in zip(self.highest, done, strict=True)]
        return int(np.maximum(0, self.ends - np.stack(closed, axis=1)).sum(axis=1).max())

    @property
    def delay_that_loses_nothing_ms(self) -> int:
        """The shortest delay of Spark's watermark with which no row of these batches is late."""
        tops, start = list[Numbers](), 0
        for topic in self.shape.topics:
            tops.append(self.read[:, start : start + len(topic.logs)].max(axis=1))
            start += len(topic.logs)
        return max(0, int((np.stack(tops).min(axis=0) - self.unread.min(axis=1)).max()) + 1)

    @property
    def steady(self) -> tuple[float, float]:
        """Records a second, and a second of processor time, after the first sample that has any."""
        rows = self.ends.sum(axis=1)
        first, last = int((rows > 0).argmax()), int((rows == rows[-1]).argmax())
        count = int(rows[last] - rows[first])
        clock, processor = (each[last] - each[first] for each in (self.clock_s, self.processor_s))
        return float(count / clock), float(count / processor)

    @property
    def hours_a_minute(self) -> float:
        """Event time of the partition furthest behind, by the clock."""
        rows = self.ends.sum(axis=1)
        first, last = int((rows > 0).argmax()), int((rows == rows[-1]).argmax())
        end = min(int(self.unread[last].min()), max(int(log[-1]) for log in self.logs if len(log)))
        return float((end - T0_MS) / HOUR_MS / (self.clock_s[last] - self.clock_s[first]) * 60)


def least_open_rows(shape: Shape) -> int:
    """Count rows that windows or the join must keep if records are read in order of event time."""
    times = np.sort(np.concatenate([log for topic in shape.topics for log in topic.logs]))
    kept = np.zeros(len(times), dtype=np.int64)
    for topic, done in _done_ms(shape, times - shape.delay_ms):
        ordered = np.sort(np.concatenate(topic.logs))
        kept += np.searchsorted(ordered, times, side="right") - np.searchsorted(ordered, done)
    return int(kept.max())


def _done_ms(shape: Shape, watermark_ms: Numbers) -> Iterator[tuple[Topic, Numbers]]:
    """Yield each topic with the event times below which nothing of it is kept."""
    for n, topic in enumerate(shape.topics):
        done = watermark_ms - watermark_ms % HOUR_MS if len(shape.topics) == 1 else watermark_ms
        yield topic, done - (JOIN_WITHIN_MS if n == 0 and len(shape.topics) > 1 else 0)
