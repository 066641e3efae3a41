"""A Spark application of its own whose executors report: `python reporting_driver.py ORDER`, as
`killable_driver.py`.

The task that reports dies in its first attempt, after it was heard; each attempt leaves a file
`attempt-N` in the order's folder. In each batch it prints `reader` and what the coordinator says of
its reader, as JSON.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
from pyspark import TaskContext
from pyspark.sql import DataFrame

from lockgate_spark import Alignment, Coordinator, align, report_progress
from lockgate_spark.jvm import progress_reports
from lockgate_testbed.spark import session
from support.drivers import Order
from support.queries import kafka_stream

Send = Callable[[Iterable[Any]], Iterator[str]]


def main(text: str) -> None:
    order = Order.parse(text)
    assert order.coordinator is not None
    coordinator = Coordinator(**order.coordinator)
    spark = session(
        order.name, conf={"spark.master": "local[2,3]"}
    )  # a task that fails is tried again, as on a cluster
    as_it_is = progress_reports._sender
    progress_reports._sender = lambda *arguments: dying_once(as_it_is(*arguments), order.folder)

    def take(batch: DataFrame, _: int) -> None:
        report_progress(batch)
        source = f"{coordinator.url}/v1/groups/{coordinator.group}/sources/{coordinator.source}"
        print(f"reader {json.dumps(httpx.get(source, timeout=60).raise_for_status().json()['readers'][0])}", flush=True)

    stream = align(kafka_stream(spark, order.bootstrap, order.topic), Alignment(coordinator=coordinator))
    writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", order.checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()
    print("finished", flush=True)


def dying_once(send: Send, folder: str) -> Send:
    def sends(rows: Iterable[Any]) -> Iterator[str]:
        refused = list(send(rows))
        context = TaskContext.get()
        assert context is not None
        Path(folder, f"attempt-{context.attemptNumber()}").touch()
        if context.attemptNumber() == 0:
            os._exit(1)
        return iter(refused)

    return sends


if __name__ == "__main__":
    main(sys.argv[1])
