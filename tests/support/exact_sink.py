"""An idempotent sink, and its account afterwards: which rows were written, by which plans.

A batch is one file, named after its id, so that a batch that is written again replaces itself. A
note of each plan is appended before its batch is written. So plans of batches that never came to an
end are accounted for as well.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Event

from pyspark.sql import DataFrame

from lockgate_spark import alignment_of


@dataclass(frozen=True, slots=True)
class Noted:
    """A plan, and the records read by it. Wall clock in s, event times in ms; `highest`: of any
    record that was read, MIN of none.
    """

    batch_id: int
    planned_at: float
    target: int
    ceiling: int
    coordinator: str | None
    highest: int


class ExactSink:
    """To be given to `foreachBatch`. `per_second`: how many records it takes a second; None: any.
    `say`: told of begin and end of each.
    """

    def __init__(
        self, folder: Path, per_second: float | None = None, say: Callable[[str], None] = lambda _: None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._per_second, self._say = folder, per_second, say
        self._never = Event()

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        began = time.monotonic()
        self._say(f"begins {batch_id}")
        rows = sorted(tuple(row) for row in batch.selectExpr("partition", "offset", "unix_millis(timestamp)").collect())
        self._note(batch, batch_id, max((row[2] for row in rows), default=-(2**63)))
        if self._per_second is not None:
            self._never.wait(max(0.0, began + len(rows) / self._per_second - time.monotonic()))
        file = self._folder / f"{batch_id}.json"
        file.with_suffix(".part").write_text(json.dumps({"ended_at": time.time(), "rows": [row[:2] for row in rows]}))
        file.with_suffix(".part").replace(file)
        self._say(f"wrote {batch_id}")

    def _note(self, batch: DataFrame, batch_id: int, highest: int) -> None:
        plan = alignment_of(batch)
        if plan is None:  # a batch that Spark replays as it was logged
            return
        told = None if plan.coordinator is None else plan.coordinator.value
        noted = Noted(batch_id, plan.planned_at, plan.target, plan.read_limit, told, highest)
        with (self._folder / "plans.jsonl").open("a") as notes:
            notes.write("\n" + json.dumps(asdict(noted)) + "\n")  # behind one that a full disk has torn


@dataclass(frozen=True, slots=True)
class Written:
    """The contents of a sink: (wall clock in s at its end, rows) of each batch, and its plans in
    order.
    """

    batches: tuple[tuple[float, tuple[tuple[int, int], ...]], ...]
    plans: tuple[Noted, ...]

    @classmethod
    def to(cls, folder: Path) -> "Written":
        """As it is now."""
        found = [
            json.loads(file.read_text()) for file in sorted(folder.glob("*.json"), key=lambda file: int(file.stem))
        ]
        notes = folder / "plans.jsonl"
        lines = notes.read_text().splitlines(keepends=True) if notes.exists() else []
        plans = (
            Noted(**json.loads(line)) for line in lines if line.endswith("}\n")
        )  # one may have been killed in its note, or have found no space for it
        return cls(tuple((each["ended_at"], tuple(map(tuple, each["rows"]))) for each in found), tuple(plans))

    @property
    def rows(self) -> Counter[tuple[int, int]]:
        """How often (partition, offset) was written."""
        return Counter(row for _, rows in self.batches for row in rows)

    @property
    def above_the_ceiling(self) -> list[Noted]:
        """Plans that read above the ceiling that their reader had received last."""
        return [plan for plan in self.plans if max(plan.target, plan.highest) > plan.ceiling]

    def position(self, partition: int, time_s: float) -> int:
        """The first offset that no batch had brought by a wall clock, of a log that is read from
        offset 0 on.
        """
        return max(
            (offset + 1 for at, rows in self.batches if at <= time_s for p, offset in rows if p == partition), default=0
        )


def all_rows(counts: Iterable[int]) -> Counter[tuple[int, int]]:
    """The exact result: each record of partitions of these lengths once."""
    return Counter((partition, offset) for partition, count in enumerate(counts) for offset in range(count))


def worst_drift(
    planned: Written,
    other: Written,
    event_time: Callable[[int, int], int],
    counts: Mapping[int, int],
    since_s: float = 0,
) -> int:
    """The most (ms) that a plan made since a wall clock was ahead of another query of the same
    topic at that moment. The other query's position is below its first unread record.
    """
    worst = 0
    for plan in planned.plans:
        if plan.planned_at < since_s:
            continue
        stood = {partition: other.position(partition, plan.planned_at) for partition in counts}
        unread = [event_time(partition, at) for partition, at in stood.items() if at < counts[partition]]
        worst = max(worst, plan.target - (min(unread) - 1) if unread else 0)
    return worst
