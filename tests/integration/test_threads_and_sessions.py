"""Queries whose thread or session is not the one that align was called in."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import BatchAlignment, align, alignment_of
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.drivers import DRIVER as KILLABLE
from support.drivers import Driver, Order
from support.members import at, member
from support.queries import kafka_stream
from support.rows import Rows

T0 = 1_767_225_600_000
DRIVER = KILLABLE.with_name("unpinned_driver.py")


@pytest.mark.long
def test_without_pinned_threads_a_gate_holds_and_stops_and_align_says_what_to_leave_out(tmp_path: Path) -> None:
    with CoordinatorProcess() as coordinator, member(coordinator.url, "unpinned", "slow") as slow:
        slow.exchange(at(T0))
        group = {"url": coordinator.url, "group": "unpinned"}
        order = Order("gated", "127.0.0.1:1", "no-topic", budget=1, folder=str(tmp_path), coordinator=group)
        driver = Driver(order, DRIVER, {"PYSPARK_PIN_THREAD": "false"}).finish()
    assert any(line.startswith("PYSPARK_PIN_THREAD=false: Spark's Kafka source") for line in driver.said)


@pytest.mark.long
def test_an_aligned_view_is_read_by_a_query_of_another_session(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"x") for n in range(3)])
    align(kafka_stream(spark, kafka.bootstrap, topic)).createOrReplaceGlobalTempView("aligned_clicks")
    of_thread: list[BatchAlignment | None] = []

    def work(batch: DataFrame, _: int) -> None:
        with ThreadPoolExecutor(1) as pool:
            of_thread.append(pool.submit(alignment_of, batch).result())

    rows = Rows(spark.newSession().table("global_temp.aligned_clicks"), work).start(tmp_path).finish()
    assert len(rows.all) == 3
    assert rows.plans[0] is not None
    assert of_thread == rows.plans, "on a thread of the user's own, too"
