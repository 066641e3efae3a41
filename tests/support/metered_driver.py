"""A Spark application of its own with sinks for its metrics: `python metered_driver.py ORDER`, as
`killable_driver.py`.

There are two queries over one topic. `orders` is in the order's group. `orders-2` is by itself,
counts late rows, and goes on until all is over. The driver prints the metrics in each of the two
sinks as JSON, a line each behind its moment:

* `held`: while the group stops `orders`;
* `batch`: in a batch of `orders`;
* `ended`: after the end of `orders`.

The caller lets the group go on once `held` is there.
"""

import json
import os
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, Coordinator, align, alignment_of
from lockgate_spark.jvm.spark_gauges import metrics_system
from lockgate_testbed.spark import session
from support.answers import wait_for
from support.drivers import Order
from support.queries import kafka_stream

SINKS = "spark.metrics.conf.driver.sink"
Found = dict[str, dict[str, str]]


def main(text: str) -> None:
    order = Order.parse(text)
    assert order.coordinator is not None
    written = Path(order.folder, "metrics")
    written.mkdir()
    sinks = {
        f"{SINKS}.csv.class": "org.apache.spark.metrics.sink.CsvSink",
        f"{SINKS}.csv.directory": str(written),
        f"{SINKS}.csv.period": "3600",  # it is asked for
        f"{SINKS}.prometheusServlet.class": "org.apache.spark.metrics.sink.PrometheusServlet",
        f"{SINKS}.prometheusServlet.path": "/metrics/prometheus",
    }
    switched = {"spark.sql.streaming.metricsEnabled": "true", "spark.metrics.namespace": "app"}
    spark = session(order.name, conf={**sinks, **switched, "spark.ui.enabled": "true", "spark.ui.port": "0"})
    stream = kafka_stream(spark, order.bootstrap, order.topic)

    def tell(moment: str, **more: object) -> None:
        print(
            f"{moment} {json.dumps({**more, 'csv': by_csv(spark, written), 'prometheus': by_prometheus(spark)})}",
            flush=True,
        )

    def take(batch: DataFrame, _: int) -> None:
        plan = alignment_of(batch)
        tell("batch", target=plan and plan.target)

    alone = start(
        align(stream, Alignment(late_rows="count")), "orders-2", order, lambda *_: None, processingTime="0 seconds"
    )
    wait_for(lambda: "lateRowsTotal" in by_csv(spark, written).get("orders-2", {}))
    grouped = start(
        align(stream, Alignment(coordinator=Coordinator(**order.coordinator))), "orders", order, take, availableNow=True
    )
    wait_for(lambda: int(by_csv(spark, written).get("orders", {}).get("pausedMs", 0)) > 0)
    tell("held")
    grouped.awaitTermination()
    tell("ended")
    alone.stop()
    spark.stop()
    print("finished", flush=True)


def start(df: DataFrame, name: str, order: Order, take: Callable[[DataFrame, int], None], **trigger: Any) -> Any:
    writer = df.writeStream.queryName(name).option("checkpointLocation", os.path.join(order.checkpoint, name))
    return writer.foreachBatch(take).trigger(**trigger).start()


def by_csv(spark: SparkSession, written: Path) -> Found:
    """The gauges of each query by their names: the last line of a file each, written now."""
    for old in written.iterdir():
        old.unlink()
    metrics_system(spark._jvm).report()
    found: Found = {}
    for path in written.glob("app.driver.lockgate.*.csv"):
        query, _, gauge = path.name.removeprefix("app.driver.lockgate.").removesuffix(".csv").partition(".alignment.")
        found.setdefault(query, {})[gauge] = path.read_text().splitlines()[-1].partition(",")[2]
    return found


def by_prometheus(spark: SparkSession) -> dict[str, str]:
    """All lines of it that are ours, by the metric's name."""
    with urllib.request.urlopen(f"{spark.sparkContext.uiWebUrl}/metrics/prometheus", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return {line.partition("{")[0]: line.rpartition(" ")[2] for line in lines if "_lockgate_" in line}


if __name__ == "__main__":
    main(sys.argv[1])
