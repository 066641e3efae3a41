"""Live feeds in virtual time, read by an aligned run without Spark and Kafka."""

from collections.abc import Callable, Iterable
from typing import Any

from lockgate_spark import Alignment
from lockgate_spark.event_times import KAFKAS, Origin, QueryWatermark
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, SourceInMemory
from support.sessions import TimeInMemory

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
START = 500_000 * HOUR
DELAY = 20 * SECOND

Feed = Callable[[int], Iterable[int]]
"""The event times (ms) that come at a wall clock, which goes on by a second each time."""


def lags(by: int) -> Feed:
    return lambda now: [now - by]


def nothing(now: int) -> list[int]:
    return []


def commits(every: int, by: int = 0) -> Feed:
    """Each so many ms what was made since, `by` ms later."""
    return lambda now: range(now - every - by, now - by, SECOND) if now % every == 0 else ()


class World:
    """A live query over a-0, on time unless `other` feeds it, and a-1. The clock goes on by a
    second with each look, and records come with it. No test waits: the monotonic clock goes on by
    what is slept.
    """

    def __init__(
        self,
        feed: Feed,
        run: RunInMemory | None = None,
        before: dict[str, list[int]] | None = None,
        other: Feed | None = None,
        **alignment: Any,
    ) -> None:
        self.now, self.feed, self.other = START, feed, other or lags(0)
        self.time = TimeInMemory()
        self.source = SourceInMemory(before or {"a-0": [], "a-1": []})
        self.source.jvm.window = 50
        self.run = run or RunInMemory()
        origin = Origin(True, KAFKAS, KAFKAS, 0)
        self.run.found = [QueryWatermark("timestamp", DELAY, (origin,))]
        self.highest, self.late = 0, {"a-0": 0, "a-1": 0}
        self.position = dict.fromkeys(self.source.records, 0)
        self.alignment = Alignment(**alignment)
        self.session = self._session()

    def _session(self) -> AlignedRun:
        made = AlignedRun(self.alignment, self.run, clock=self._clock, ticks=self.time.ticks, sleep=self.time.sleep)
        made.add(0, self.source)
        return made

    def _clock(self) -> float:
        self.now += SECOND
        self.source.records["a-0"].extend(self.other(self.now))
        self.source.records["a-1"].extend(self.feed(self.now))
        return self.now / 1000

    def batch(self) -> None:
        """One batch, and what Spark drops of it."""
        end = self.session.latest_offset(0, self.position)
        read = {split: self.source.records[split][self.position[split] : at] for split, at in end.items()}
        watermark = self.highest - DELAY
        for split, times in read.items():
            self.late[split] += sum(time <= watermark for time in times)
            self.highest = max([self.highest, *times])
        self.position = end

    def play(self, seconds: int) -> "World":
        end = self.now + seconds * SECOND
        while self.now < end:
            self.batch()
        return self

    def restart(self, after_ms: int = 0, killed: bool = False) -> "World":
        """The next run, so long after this one. Records come meanwhile. `killed`: nothing ends the
        run.
        """
        if not killed:
            self.session.close()
        for _ in range(after_ms // SECOND):
            self._clock()
        self.run.logged = {0: self.position}
        self.run.stored = self.highest - DELAY
        self.session = self._session()
        return self

    @property
    def behind_s(self) -> float:
        """How far behind the clock the first record of the on-time split is that was not read."""
        unread = self.source.records["a-0"][self.position["a-0"] :]
        return (self.now - unread[0]) / SECOND if unread else 0.0
