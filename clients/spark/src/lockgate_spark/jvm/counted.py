"""The counts of a batch in one place of its plan, by split, computed from Spark's histograms.

**Merged histograms.** Each task makes a histogram with a bin for every value. The driver
concatenates the bins of all tasks without adding them. So the bins of a split are added here.

**Tasks that ran again.** After a second action in foreachBatch, or the loss of an executor, tasks
read the source again, and Spark also counts those rows. Another histogram has one bin for each
task. If it has more bins than the source has tasks, a part was counted twice. If each split has one
task, then a split's largest bin is its count. Otherwise the sum is only an upper bound.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from lockgate_spark.logs.requests import Offsets

MOST_BINS = 10_000
"""Bins that a histogram keeps; beyond, it merges neighbours."""

CODE = "crc32(CAST(topic AS BINARY)) * 2097152L + partition * 2"
"""A number for each split, in SQL. With one bit to spare it is below 2^53: a double is exact."""


def code_of(split: str) -> int:
    """Return `CODE` for a split, by its name."""
    topic, _, partition = split.rpartition("-")
    return crc32(topic.encode()) * 2_097_152 + int(partition) * 2


@dataclass(frozen=True, slots=True)
class CountedPlace:
    """The rows of a batch in one place of its plan.

    Attributes:
        rows: All rows.
        late: Rows behind the watermark, by split.
        lost: Of these, the rows whose window was behind it, by split.
        early: Rows stamped before 1970.
        untimed: Rows without any event time.
        oldest: The lowest event time (ms) of a late row.
        exact: False if the counts are upper bounds.
    """

    rows: int
    late: Mapping[str, int]
    lost: Mapping[str, int]
    early: int
    untimed: int
    oldest: int | None
    exact: bool

    @classmethod
    def of(cls, found: Mapping[str, Any], tasks: int, start: Offsets, end: Offsets) -> "CountedPlace":
        """Make it from the metrics that Spark has observed. `tasks` is the number of tasks that
        read the source, each once, from the offsets `start` to `end`.
        """
        read = {split: offsets for split, to in end.items() if (offsets := to - start.get(split, 0)) > 0}
        runs, bins = found["tasks"] or [], found["late"] or []
        once = len(runs) <= tasks
        add: Callable[[Iterable[int]], int] = max if not once and tasks == len(read) else sum
        by_code = _by_code(bins, [code_of(split) + lost for split in read for lost in (0, 1)])
        held, lost = ({split: add(by_code[code_of(split) + bit]) for split in read} for bit in (0, 1))
        rows = min(sum(int(one["y"]) for one in runs), sum(read.values()))
        return cls(
            rows,
            {split: min(count + lost[split], read[split]) for split, count in held.items() if count + lost[split]},
            {split: min(count, read[split]) for split, count in lost.items() if count},
            min(found["early"], rows),
            min(found["untimed"], rows),
            found["oldest"],
            exact=(once or add is max) and max(len(runs), len(bins)) < MOST_BINS,
        )


def _by_code(bins: Iterable[Mapping[str, float]], codes: Iterable[int]) -> dict[int, list[int]]:
    """Return the counts of the bins of each code. A merged bin is added to the nearest code."""
    counts: dict[int, list[int]] = {code: [0] for code in sorted(codes)}
    ordered = list(counts)
    for one in bins:
        code = round(one["x"])
        if code not in counts:
            code = min(ordered, key=lambda known: abs(known - one["x"]))
        counts[code].append(int(one["y"]))
    return counts
