"""The history of a run of a query, from Spark's own progress. Nothing here asks lockgate."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lockgate_spark import BatchAlignment


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch. `began_at`, `ended_at`: wall clock, s. `ends`: the first unread offset of each
    partition. `watermark_ms`: Spark's, in force while the batch ran, None before the first.
    `dropped`: rows that Spark says it dropped as late.
    """

    rows: int
    began_at: float
    ended_at: float
    ends: Mapping[int, int]
    watermark_ms: int | None = None
    dropped: int = 0

    @classmethod
    def from_progress(cls, text: str) -> "Batch":
        """Read off one `StreamingQueryProgress.json`."""
        progress: dict[str, Any] = json.loads(text)
        began_at = _seconds(progress["timestamp"])
        watermark = progress.get("eventTime", {}).get("watermark")
        return cls(
            rows=progress["numInputRows"],
            began_at=began_at,
            ended_at=began_at + progress["durationMs"]["triggerExecution"] / 1000,
            ends=_offsets(progress["sources"][0].get("endOffset")),
            watermark_ms=(round(_seconds(watermark) * 1000) or None) if watermark else None,
            dropped=sum(operator["numRowsDroppedByWatermark"] for operator in progress["stateOperators"]),
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the windowed count. `seconds`: from its start to its end. `counts`: each window's
    latest count, by the window's start. `plans`: lockgate's, batch by batch; none in a run of plain
    Spark.
    """

    name: str
    seconds: float
    batches: tuple[Batch, ...]
    counts: Mapping[datetime, int]
    plans: tuple[BatchAlignment, ...] = ()

    @property
    def rows_in(self) -> int:
        """Rows that Spark read."""
        return sum(batch.rows for batch in self.batches)

    @property
    def rows_counted(self) -> int:
        """Rows in the latest counts of all windows, closed or still open: only late rows are
        missing.
        """
        return sum(self.counts.values())

    @property
    def rows_lost(self) -> int:
        """Rows that were read and are in no window."""
        return self.rows_in - self.rows_counted

    @property
    def dropped(self) -> int:
        """Rows that Spark says it dropped."""
        return sum(batch.dropped for batch in self.batches)


def _offsets(found: Any) -> dict[int, int]:
    """Spark's `{"topic": {"0": 5}}`, which some versions write as a string; one topic."""
    topics: dict[str, dict[str, int]] = (json.loads(found) if isinstance(found, str) else found) or {}
    return {int(partition): offset for of_topic in topics.values() for partition, offset in of_topic.items()}


def _seconds(iso: str) -> float:
    return datetime.fromisoformat(iso.replace("Z", "+00:00")).timestamp()
