"""A Spark application of its own, to be killed: `python killable_driver.py BOOTSTRAP TOPIC CHECKPOINT OUT BUDGET`.

Its sink is idempotent: each batch writes one file, named after the batch's id. It prints `begins N` and `wrote N` for batch N.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame

from lockgate_spark import Alignment, align
from lockgate_testbed.spark import session
from support.queries import kafka_stream


def main(bootstrap: str, topic: str, checkpoint: str, out: str, budget: str) -> None:
    spark = session("killable driver", cores=2)

    def write(batch: DataFrame, batch_id: int) -> None:
        print(f"begins {batch_id}", flush=True)
        rows = sorted((row["partition"], row["offset"]) for row in batch.select("partition", "offset").collect())
        file = Path(out) / f"{batch_id}.txt"
        file.with_suffix(".part").write_text("\n".join(f"{partition} {offset}" for partition, offset in rows))
        file.with_suffix(".part").replace(file)
        print(f"wrote {batch_id}", flush=True)

    stream = align(kafka_stream(spark, bootstrap, topic, maxOffsetsPerTrigger=int(budget)), Alignment(max_drift="10 minutes"))
    query = stream.writeStream.foreachBatch(write).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    spark.stop()
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
