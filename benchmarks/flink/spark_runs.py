"""Runs of Spark, plain and aligned, as traces."""

import json
import tempfile
from datetime import datetime
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.flink.trace import NOTHING, Trace
from benchmarks.skew.history import ends
from benchmarks.skew.queries import Run
from benchmarks.skew.shapes import Shape


def run(
    spark: SparkSession, bootstrap: str, shape: Shape, max_drift_ms: int | None, delay_ms: int | None = None
) -> tuple[Trace, dict[int, int]]:
    """Run a shape's query to its end, aligned if there is a drift: its trace, and the rows that it
    counted by hour.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint:
        found = Run(shape, max_drift_ms, delay_ms).read(spark, bootstrap, Path(checkpoint))
    batches = [progress for progress in map(json.loads, found.progress) if progress["batchId"] in found.ended]
    places = [(topic.name, partition) for topic in shape.topics for partition in range(len(topic.logs))]
    boundaries = [ends(json.dumps(progress)) for progress in batches]
    clock, processor = zip(*(found.ended[progress["batchId"]] for progress in batches), strict=True)
    trace = Trace(
        shape,
        np.array(clock),
        np.array(processor),
        np.array([watermark_ms(progress["eventTime"].get("watermark")) for progress in batches]),
        np.array([[boundary.get(place, 0) for place in places] for boundary in boundaries]),
    )
    return trace, found.counted


def watermark_ms(written: str | None) -> int:
    """Return the one that closed windows in the batch."""
    if written is None:
        return NOTHING
    return max(NOTHING, int(datetime.fromisoformat(written.replace("Z", "+00:00")).timestamp() * 1000))
