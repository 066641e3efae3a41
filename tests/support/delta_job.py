"""Two gated queries over Delta tables: `spark-submit … delta_job.py COORDINATOR FOLDER`.

Each table has `HOURS` commits, with an hour of rows in each. What the queries did is in the file
FOLDER/told.json, in order: the query, whether a batch begins or ends, and its event times in ms.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, Coordinator, gate

HOURS, ROWS = 12, 30
T0_S = 1_767_225_600
QUERIES = ("a", "b")


def main(coordinator: str, folder: str) -> None:
    spark = SparkSession.builder.appName("a gate over Delta").getOrCreate()
    told: list[tuple[str, str, list[int]]] = []
    first, second = (Path(folder, name) for name in QUERIES)
    for hour in range(HOURS):
        rows = spark.range(ROWS).selectExpr(f"timestamp_seconds({T0_S} + 3600 * {hour} + 120 * id) AS at")
        rows.coalesce(1).write.format("delta").mode("append").save(str(first))
    shutil.copytree(first, second)

    def work(name: str) -> Any:
        def take(batch: DataFrame, _: int) -> None:
            times = sorted(row[0] for row in batch.selectExpr("unix_millis(at)").collect())
            told.append((name, "begins", times))
            told.append((name, "ends", times))

        group = Coordinator(coordinator, group="delta", source=name)
        return gate(take, "at", Alignment(coordinator=group))

    started = [
        spark.readStream.format("delta")
        .option("maxFilesPerTrigger", 1)
        .load(str(Path(folder, name)))
        .writeStream.foreachBatch(work(name))
        .option("checkpointLocation", str(Path(folder, f"checkpoint-{name}")))
        .trigger(availableNow=True)
        .start()
        for name in QUERIES
    ]
    for query in started:
        query.awaitTermination()
    Path(folder, "told.json").write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
