"""Gated queries over files, whose batches a test chooses: one file is one batch."""

import json
import os
import threading
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from lockgate import watermark
from lockgate_spark import Alignment, BatchAlignment, Coordinator, alignment_of, gate
from support.answers import wait_for
from support.queries import PATIENCE_S


def write_batches(folder: Path, batches: Sequence[Sequence[int | None]]) -> Path:
    """One file a batch, in this order, of event times in ms; None: a row without."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, batch in enumerate(batches, len(list(folder.iterdir()))):
        file = folder / f"{number}.json"
        file.write_text("".join(json.dumps({"ts": None if ms is None else watermark.iso(ms)}) + "\n" for ms in batch))
        os.utime(file, (1_700_000_000 + number,) * 2)  # Spark goes by it
    return folder


class Gated:
    """A query over such files. `handed`: the event times of each batch that came through, None for
    a value that is no time.
    """

    def __init__(self, spark: SparkSession, folder: Path, url: str, group: str, **alignment: Any) -> None:
        self._stream = spark.readStream.schema("ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(str(folder))
        self._gate = gate(
            self.take, event_time="ts", alignment=Alignment(coordinator=Coordinator(url, group=group), **alignment)
        )
        self.handed: list[list[int | None]] = []
        self.views: list[BatchAlignment | None] = []
        self.query: StreamingQuery | None = None
        self.changed = threading.Event()

    def start(self, checkpoint: Path, name: str = "gated", available_now: bool = True) -> "Gated":
        writer = (
            self._stream.writeStream.queryName(name)
            .foreachBatch(self._gate)
            .option("checkpointLocation", str(checkpoint))
        )
        self.query = (writer.trigger(availableNow=True) if available_now else writer).start()
        return self

    def take(self, batch: DataFrame, _: int) -> None:
        times: list[datetime | None] = [row["ts"] for row in batch.collect()]
        self.views.append(alignment_of(batch))
        self.handed.append(
            [None if time is None else int(time.astimezone(timezone.utc).timestamp() * 1000) for time in times]
        )

    def has(self, batches: int) -> "Gated":
        """Waits until so many batches came through."""
        wait_for(lambda: len(self.handed) >= batches or not self.running)
        assert len(self.handed) == batches, self.query and self.query.exception()
        return self

    def finish(self) -> "Gated":
        assert self.query is not None
        assert self.query.awaitTermination(PATIENCE_S), f"it still runs, after {self.handed}"
        return self

    @property
    def running(self) -> bool:
        return self.query is not None and self.query.isActive
