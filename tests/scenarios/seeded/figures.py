"""What lockgate says of its runs, beside the truth: rows that are late, rows that were lost, and
rows that came later than their producer had shown.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from seeded.played import Figures, Lane, Record, Split
from seeded.scenario import Kind, Operator, Query, Scenario, Stop
from seeded.truth import Readings, late_from

UNCOUNTED_ROWS = 5


def figures_of(progress: Sequence[Mapping[str, Any]], report: Path, split: Callable[[int, str, str], Split]) -> Figures:
    """Of one run. `progress`: all its reports. `report`: the folder of its report in mode observe,
    if there is one. `split`: as in `checkpoints`.
    """
    late, counts, too_late, behind = Counter[Split](), False, 0, 0
    for each in progress:
        for place, source in enumerate(each["sources"]):
            metrics = source.get("metrics") or {}
            too_late = max(too_late, int(metrics.get("alignmentRowsTooLate", 0)))
            behind = max(behind, int(metrics.get("alignmentBehindMs", 0)))
            counts = counts or "lateRowsByPartition" in metrics
            if source["numInputRows"]:  # a batch without rows shows those of the one before it again
                for name, rows in json.loads(metrics.get("lateRowsByPartition", "{}")).items():
                    topic, _, partition = name.rpartition("-")
                    late[split(place, topic, partition)] += rows
    found = sorted(report.glob("*.json"))
    lost = json.loads(found[0].read_text())["rows"]["lost"] if found else {"least": 0, "most": None}
    return Figures(late if counts else None, lost["least"], lost["most"], too_late, behind)


def misstated(scenario: Scenario, lane: Lane, read: Readings, outside: Sequence[Record]) -> list[str]:
    """What lockgate said and is not true. `outside`: lost rows that no promise keeps."""
    query, told = scenario.query, lane.figures
    if not told:
        return []
    found = []
    # a batch that is tried again is counted again
    if not any(isinstance(act, Stop) for act in scenario.acts):
        if all(each.late is not None for each in told):
            late, said = late_rows(query, lane, read), sum((Counter(each.late) for each in told), Counter[Split]())
            if late != said:
                found.append(f"{said.total()} rows were counted as late, {late.total()} are: {_differ(said, late)}")
        if query.observes and query.operator in (Operator.COUNT, Operator.DEDUP):
            least, most = (sum(getattr(each, name) or 0 for each in told) for name in ("least", "most"))
            if not least <= len(outside) <= most:
                found.append(f"{least} to {most} rows were reported as lost, {len(outside)} are")
    too_late = sum(each.too_late for each in told)
    if scenario.kind is Kind.GROWING and len(outside) > too_late + UNCOUNTED_ROWS:
        found.append(f"{len(outside)} rows came later than was shown and are lost, {too_late} are counted as too late")
    if scenario.kind is Kind.AHEAD and not any(each.behind_ms for each in told):
        found.append("a partition waits for the clock, and alignmentBehindMs is 0")
    return found


def late_rows(query: Query, lane: Lane, read: Readings) -> Counter[Split]:
    """The rows that the watermark of their batch has dropped, by split: the one that is logged with
    the batch before.
    """
    watermarks = {batch.number + 1: batch.watermark for batch in lane.batches}
    return Counter(
        record.split
        for record in read.records
        if (watermark := watermarks.get(read.batch(record).number, 0)) > 0 and late_from(query, record) <= watermark
    )


def _differ(said: Counter[Split], late: Counter[Split]) -> str:
    splits = sorted(split for split in said.keys() | late.keys() if said[split] != late[split])
    return ", ".join(f"{split.topic}-{split.partition} {said[split]} for {late[split]}" for split in splits[:3])
