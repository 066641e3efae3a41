"""A small aligned application for a cluster:
`spark-submit … cluster_job.py BOOTSTRAP TOPIC COORDINATOR CHECKPOINT OUT BUDGET`.

It needs PySpark, the files shipped with `--py-files`, and nothing else. It writes JSON to the file
OUT. For each batch there are its rows, the plan's target, and the group's watermark before and
after the executors have reported. Besides there are the folders that the executors worked in.
"""

import json
import os
import sys
import urllib.request
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, Coordinator, align, alignment_of, report_progress


def main(bootstrap: str, topic: str, coordinator: str, checkpoint: str, out: str, budget: str) -> None:
    spark = SparkSession.builder.appName("lockgate on a cluster").getOrCreate()
    batches: list[dict[str, Any]] = []
    executors: set[str] = set()

    def work(batch: DataFrame, _: int) -> None:
        plan = alignment_of(batch)
        before = group_watermark(coordinator)
        report_progress(batch)
        after = group_watermark(coordinator)
        rows = batch.select("partition", "offset").rdd.mapPartitions(with_folder).collect()
        executors.update(folder for _, _, folder in rows)
        told = {"target": plan and plan.target, "before": before, "after": after}
        batches.append({**told, "rows": sorted((partition, offset) for partition, offset, _ in rows)})

    stream = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    stream = stream.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", budget).load()
    aligned = align(stream, Alignment(max_drift="1 hour", coordinator=Coordinator(coordinator, group="cluster")))
    writer = aligned.writeStream.queryName("job").foreachBatch(work).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    driver = os.getcwd()
    Path(out).write_text(
        json.dumps({"batches": batches, "executors": sorted(executors), "driver": driver, "python": sys.executable})
    )
    spark.stop()


def with_folder(rows: Any) -> Any:
    """In the executor: each row with the folder in which its process works."""
    return [(*row, os.getcwd()) for row in rows]


def group_watermark(coordinator: str) -> int:
    with urllib.request.urlopen(f"{coordinator}/v1/groups/cluster", timeout=10) as answer:
        return int(json.load(answer)["group_watermark"])


if __name__ == "__main__":
    main(*sys.argv[1:])
