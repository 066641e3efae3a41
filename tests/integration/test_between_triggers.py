"""A held query whose triggers are far apart: the group's news find it waiting in its plan."""

from pathlib import Path

import httpx
import pyspark.sql.functions as F
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.answers import wait_for
from support.queries import WindowedCount, kafka_stream

RECORDS = 2_000


def test_a_plan_that_is_held_goes_on_with_the_news_and_not_an_hour_later_with_its_next_trigger(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.load(kafka.bootstrap, SkewedTopic(topic, weights=(1, 3), records=RECORDS))
    with CoordinatorProcess() as coordinator:
        group = f"{coordinator.url}/v1/groups/g"
        httpx.put(group, json={"max_drift_ms": 30_000, "expected_sources": ["late"]}).raise_for_status()
        stream = align(
            kafka_stream(spark, kafka.bootstrap, topic), Alignment(coordinator=Coordinator(coordinator.url, group="g"))
        )
        seen: list[int] = []
        writer = stream.writeStream.queryName("early").foreachBatch(
            lambda batch, _: seen.append(batch.agg(F.count("*")).first()[0])
        )
        early = writer.option("checkpointLocation", str(tmp_path / "early")).trigger(processingTime="1 hour").start()
        try:
            wait_for(lambda: [s["source"] for s in httpx.get(group, timeout=60).json()["sources"]] == ["early"])
            late = WindowedCount(stream).start(tmp_path / "late", name="late")
            assert late.finish().counted == RECORDS
            wait_for(lambda: sum(seen) == RECORDS)
        finally:
            early.stop()
