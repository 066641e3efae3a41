"""A Spark application of its own that keeps its late rows, and dies on the way:
`python keeping_driver.py ORDER`, as `killable_driver.py`.

It removes duplicates, and writes which records each batch has output to `out/N.json`. Of the
batches in `fails_at`, it dies in the middle of the first, after the second was committed but before
its late rows are written, and after those of the third were published but before this is noted;
once in each. The environment variable LATE_TOPIC names the topic for late rows.
"""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame

from lockgate_spark import Alignment, align
from lockgate_spark.jvm.kept import KeptRows, LateTopic
from lockgate_testbed.spark import session
from support.drivers import Order
from support.queries import kafka_stream


def main(text: str) -> None:
    order = Order.parse(text)
    spark = session(order.name)
    stream = kafka_stream(spark, order.bootstrap, order.topic, maxOffsetsPerTrigger=order.budget)
    alignment = Alignment(mode="observe", late_rows="keep", late_rows_topic=os.environ["LATE_TOPIC"])
    df = align(stream, alignment).withWatermark("timestamp", "10 minutes")
    out = Path(order.out)
    out.mkdir(exist_ok=True)
    middle, after, published = order.fails_at
    write, publish = KeptRows._write, LateTopic.publish

    def take(batch: DataFrame, number: int) -> None:
        rows = [(row["partition"], row["offset"]) for row in batch.select("partition", "offset").collect()]
        if number == middle:
            die_once(out, "middle")
        (out / f"{number}.json").write_text(json.dumps(rows))

    def write_or_die(kept: KeptRows, number: int) -> None:
        if number == after:
            die_once(out, "after")
        write(kept, number)

    def publish_and_die(topic: LateTopic, rows: DataFrame) -> None:
        publish(topic, rows)
        if rows.first()["batch_id"] == published:  # type: ignore[index]
            die_once(out, "published")

    KeptRows._write = write_or_die  # type: ignore[method-assign]
    LateTopic.publish = publish_and_die  # type: ignore[method-assign]
    distinct = df.dropDuplicates(["partition", "offset", "timestamp"])
    query = distinct.writeStream.foreachBatch(take).option("checkpointLocation", order.checkpoint)
    query.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    print("finished", flush=True)


def die_once(out: Path, when: str) -> None:
    if not (out / when).exists():
        (out / when).touch()
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1])
