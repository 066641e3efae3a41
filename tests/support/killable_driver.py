"""A Spark application of its own, to be killed: `python killable_driver.py ORDER`, the order as
JSON (`support.drivers.Order`).

It reads to the end of its topic into an `ExactSink`, and prints `started`, `begins N` and `wrote N`
for batch N, and `finished`.
"""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql import DataFrame

from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed.spark import session
from support.drivers import Order
from support.exact_sink import ExactSink
from support.queries import kafka_stream

if TYPE_CHECKING:
    from pyarrow import RecordBatch


def main(text: str) -> None:
    order = Order.parse(text)
    spark = session(
        order.name, conf={"spark.master": "local[2,3]"}
    )  # a task that fails is tried again, as on a cluster
    coordinator = Coordinator(**order.coordinator) if order.coordinator else None
    stream = kafka_stream(spark, order.bootstrap, order.topic, maxOffsetsPerTrigger=order.budget)
    stream = align(stream, Alignment(max_drift=order.max_drift, coordinator=coordinator))
    sink = ExactSink(Path(order.out), order.per_second, lambda said: print(said, flush=True))
    take = failing_once(sink, order.fails_at) if order.fails_at else sink
    writer = stream.writeStream.queryName(order.name).foreachBatch(take).option("checkpointLocation", order.checkpoint)
    query = writer.trigger(availableNow=True).start()
    print("started", flush=True)
    query.awaitTermination()
    spark.stop()
    print("finished", flush=True)


def failing_once(sink: ExactSink, batches: tuple[int, ...]) -> Callable[[DataFrame, int], None]:
    """The sink, before which the executor's process dies in the first attempt of a task of these
    batches, after its work.
    """

    def dies(parts: "Iterator[RecordBatch]") -> "Iterator[RecordBatch]":
        yield from parts
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            os._exit(1)

    def take(batch: DataFrame, batch_id: int) -> None:
        if batch_id in batches:
            print(f"fails {batch_id}", flush=True)
            batch.select("partition", "offset").mapInArrow(dies, "partition INT, offset BIGINT").collect()
        sink(batch, batch_id)

    return take


if __name__ == "__main__":
    main(sys.argv[1])
