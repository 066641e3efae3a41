"""Part of `growth`: the pure steps of one plan, `Draft` and `Draft.plan`, over logs in memory.

The logs are arithmetic, so what their answers take is measured and left out: it stands for Kafka.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from lockgate.plan.answers import LogAnswers
from lockgate.plan.draft import Draft
from lockgate.plan.model import Backlog, Bounds, Head
from lockgate_spark.planning.steps import Look, answered

SIZES = (100, 1_000, 10_000, 50_000)
T0 = 1_767_225_600_000
BOUNDS = Bounds(max_drift=600_000, idle_timeout=60_000)
Key = tuple[int, str]
T = TypeVar("T")


class EvenLogs:
    """Logs of one source with a record every `gaps` ms from `first` on, a day long."""

    def __init__(self, partitions: int) -> None:
        draw = np.random.default_rng(partitions)
        self.keys = [(0, f"topic-{n}") for n in range(partitions)]
        self.gaps = draw.integers(1_000, 60_000, partitions)
        self.first = T0 + draw.integers(0, 6 * 3_600_000, partitions)
        self.ends = (T0 + 24 * 3_600_000 - self.first) // self.gaps + 1
        self.read_budget_spent, self.seconds = False, 0.0

    def backlogs(self) -> dict[Key, Backlog]:
        now = T0 + 30 * 3_600_000
        return {
            key: Backlog(source=0, position=0, end=end, known_until=now)
            for key, end in zip(self.keys, self.ends.tolist(), strict=True)
        }

    def heads(self) -> Mapping[Key, Head]:
        return self.first_after(-1)

    def first_after(self, event_time: int) -> Mapping[Key, Head]:
        began = time.process_time()
        offsets = np.maximum(0, (event_time - self.first) // self.gaps + 1)
        times = self.first + offsets * self.gaps
        found = {
            key: Head(offset, at)
            for key, offset, at, end in zip(
                self.keys, offsets.tolist(), times.tolist(), self.ends.tolist(), strict=True
            )
            if offset < end
        }
        self.seconds += time.process_time() - began
        return found

    def highest(self) -> Mapping[Key, int]:
        began = time.process_time()
        found = dict(zip(self.keys, (self.first + (self.ends - 1) * self.gaps).tolist(), strict=True))
        self.seconds += time.process_time() - began
        return found

    def confirm(self, event_time: int, heads: Mapping[Key, Head]) -> bool:
        return True


def costs(partitions: int) -> Iterator[tuple[str, float]]:
    """Yield what the draft and the cut of one plan take, without the logs' answers."""
    logs = EvenLogs(partitions)
    backlogs = logs.backlogs()

    def spent(work: Callable[[], T]) -> tuple[T, float]:
        logs.seconds, began = 0.0, time.process_time()
        made = work()
        return made, time.process_time() - began - logs.seconds

    answers, searched = spent(lambda: LogAnswers(backlogs, logs, BOUNDS, {0: 20 * partitions}))
    look = Look(asked_at=0.0, unread=cast("Any", logs), bounds=BOUNDS, answers=answers.closed())
    drafted, took = spent(lambda: Draft(look.answers))
    yield "draft", searched + took
    ceiling = (drafted.first + drafted.target) // 2
    plan, took = spent(lambda: answered(lambda: drafted.plan(ceiling), look))
    yield "cut at the read limit", took
    ends = np.array([split.end for split in plan.splits.values()])
    last = (logs.first + (ends - 1) * logs.gaps)[ends > 0]
    assert int(last.max()) <= ceiling < drafted.target
    yield "watermarks of the report", spent(drafted.reported_watermarks)[1]
