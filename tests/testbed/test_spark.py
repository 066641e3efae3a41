import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lockgate_testbed import class_archives, topics
from lockgate_testbed.errors import JarsUnavailable
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.left_out import or_left_out

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_spark_reads_a_skewed_topic_as_it_was_specified(spark: "SparkSession", kafka: KafkaBroker, topic: str) -> None:
    spec = SkewedTopic(topic, weights=(1, 4), records=1_000)
    topics.load(kafka.bootstrap, spec)

    read = (
        spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap).option("subscribe", topic).load()
    )
    rows = read.groupBy("partition").agg({"*": "count", "timestamp": "max"}).orderBy("partition").collect()

    assert [row["count(1)"] for row in rows] == spec.counts()
    latest = [spec.event_time(partition, count - 1) / 1_000 for partition, count in enumerate(spec.counts())]
    assert [row["max(timestamp)"].timestamp() for row in rows] == latest


def test_workers_run_the_interpreter_of_the_driver(spark: "SparkSession") -> None:
    rows = spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()

    assert rows == [sys.executable]


def test_session_starts_with_the_archive_of_its_classes(spark: "SparkSession") -> None:
    gateway: Any = spark.sparkContext._gateway

    def archive() -> str:
        found = class_archives.option(spark.conf.get("spark.driver.extraClassPath") or "")
        if not found:
            raise JarsUnavailable("no archive of Spark's classes: python -m lockgate_testbed makes it")
        return found[0].partition("=")[2]

    assert or_left_out(archive) in Path(f"/proc/{gateway.proc.pid}/maps").read_text()
