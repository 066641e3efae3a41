"""Computes how many rows of each split in a batch were late, from the histograms of one
`DataFrame.observe` in the batch's plan.

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
"""The maximum number of bins in a histogram. Beyond it, Spark merges neighbouring bins."""

CODE = "crc32(CAST(topic AS BINARY)) * 2097152L + partition * 2"
"""SQL for a number that identifies a row's split. It is even, and a double can hold it exactly."""


def code_of(split: str) -> int:
    """Return the number of a split, as the SQL expression `CODE` computes it. `split` is its name,
    such as `orders-3`.
    """
    topic, _, partition = split.rpartition("-")
    return crc32(topic.encode()) * 2_097_152 + int(partition) * 2


@dataclass(frozen=True, slots=True)
class CountedPlace:
    """The counts of a batch's rows at one place of its plan, where `DataFrame.observe` counts them.

    Attributes:
        rows: All rows.
        late: Rows at or below the watermark, by split.
        lost: Late rows whose whole window was behind the watermark, by split.
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
        """Return the counts from `found`, the metrics that Spark has observed. `tasks` is the
        number of tasks that read the source from the offsets `start` to `end`, without tasks that
        ran again.
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
    """Return the counts of all bins by code. If Spark has merged bins, their count goes to the
    nearest of `codes`.
    """
    counts: dict[int, list[int]] = {code: [0] for code in sorted(codes)}
    ordered = list(counts)
    for one in bins:
        code = round(one["x"])
        if code not in counts:
            code = min(ordered, key=lambda known: abs(known - one["x"]))
        counts[code].append(int(one["y"]))
    return counts
