"""A partition that is read alone is read by all cores, unless the job wants one task for it."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, align
from lockgate_spark.jvm.compiler import compiled
from lockgate_spark.jvm.stream import LEAST_OFFSETS_OF_A_TASK as LEAST
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import kafka_stream

T0 = 1_767_225_600_000

Range = tuple[int, int, int]
"""A partition, and its offsets."""


def divided(spark: SparkSession, ranges: list[Range], cores: int) -> list[Range]:
    found = [each.offsetRange() for each in parts(spark, ranges, cores, {})]
    return [(each.partition(), each.fromOffset(), each.untilOffset()) for each in found]


def parts(spark: SparkSession, ranges: list[Range], cores: int, params: dict[str, str]) -> list[Any]:
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    kafka, of = jvm.org.apache.spark.sql.kafka010, jvm.org.apache.kafka.common.TopicPartition
    planned = gateway.new_array(jvm.org.apache.spark.sql.connector.read.InputPartition, len(ranges))
    of_kafka = jvm.java.util.HashMap()
    for key, value in params.items():
        of_kafka.put(key, value)
    for n, (partition, start, end) in enumerate(ranges):
        read = kafka.KafkaOffsetRange(of("orders", partition), start, end, jvm.scala.Option.apply("host-1"))
        planned[n] = kafka.KafkaBatchInputPartition(read, of_kafka, 100, True, False)
    arguments = jvm.java.util.ArrayList()
    arguments.add(LEAST)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    made = compiled(jvm, loader, "lockgate_spark.jvm", "DividedRanges", f"Tested_{uuid.uuid4().hex}", "")
    return list(made.newInstance(arguments.toArray()).divided(planned, cores))


@pytest.mark.parametrize(
    ("ranges", "cores", "tasks"),
    [
        pytest.param([(0, 10, 8_010)], 4, [(0, 10, 2_010), (0, 2_010, 4_010), (0, 4_010, 6_010), (0, 6_010, 8_010)]),
        pytest.param(
            [(0, 0, 2_200)], 8, [(0, 0, 1_000), (0, 1_000, 2_000), (0, 2_000, 2_200)], id="a share has 1,000 offsets"
        ),
        pytest.param([(0, 0, 1_250)], 8, [(0, 0, 1_250)], id="too few offsets"),
        pytest.param(
            [(0, 0, 100), (1, 0, 9_100)],
            4,
            [(1, 2_200, 4_500), (1, 4_500, 6_800), (1, 6_800, 9_100), (1, 0, 2_200), (0, 0, 100)],
            id="a core has the rest of its share from the next range",
        ),
        pytest.param(
            [(0, 0, 9_500), (1, 0, 2_000), (2, 0, 500)],
            4,
            [(0, 500, 3_500), (0, 3_500, 6_500), (0, 6_500, 9_500), (1, 0, 2_000), (2, 0, 500), (0, 0, 500)],
            id="the smallest ranges fill a share first",
        ),
        pytest.param(
            [(0, 0, 9_500), (1, 0, 4_000), (2, 0, 3_000)],
            2,
            [(0, 0, 9_500), (1, 0, 4_000), (2, 0, 3_000)],
            id="nothing is cut if that saves little",
        ),
        pytest.param(
            [(n, 0, 9_000 + n) for n in range(4)], 4, [(n, 0, 9_000 + n) for n in (3, 2, 1, 0)], id="all even"
        ),
        pytest.param(
            [(n, 0, 6_000) for n in range(3)],
            2,
            [(2, 0, 6_000), (0, 0, 6_000), (1, 0, 3_000), (1, 3_000, 6_000)],
            id="one and a half for each core",
        ),
        pytest.param([], 4, [], id="nothing to read"),
    ],
)
def test_ranges_are_divided_evenly_over_the_cores(
    spark: SparkSession, kafka: KafkaBroker, ranges: list[Range], cores: int, tasks: list[Range]
) -> None:
    assert divided(spark, ranges, cores) == tasks


@pytest.mark.parametrize(
    ("params", "wait_ms"),
    [
        pytest.param({"group.id": "spark-kafka-source-1-executor"}, "10", id="default"),
        pytest.param({"group.id": "spark-kafka-source-1-executor", "fetch.max.wait.ms": "70"}, "70", id="set"),
        pytest.param({"group.id": "reports"}, None, id="a group id that others may have"),
    ],
)
def test_tasks_wait_briefly_behind_the_end_of_a_log(
    spark: SparkSession, kafka: KafkaBroker, params: dict[str, str], wait_ms: str | None
) -> None:
    found = parts(spark, [(0, 0, 100), (1, 0, 9_100)], 4, params)
    assert [each.executorKafkaParams().get("fetch.max.wait.ms") for each in found] == [wait_ms] * 5
    assert all(each.executorKafkaParams()["group.id"] == params["group.id"] for each in found)


@pytest.fixture(scope="module")
def backlog(kafka: KafkaBroker) -> str:
    topics.create(kafka.bootstrap, "read-alone", 1)
    topics.produce(kafka.bootstrap, "read-alone", [(0, T0 + n, None, b"x") for n in range(3 * LEAST)])
    return "read-alone"


@pytest.mark.parametrize(
    ("alignment", "options", "tasks"),
    [
        (Alignment(), {}, 2),
        (Alignment(), {"minPartitions": 1}, 1),
        (Alignment(), {"maxRecordsPerPartition": 10 * LEAST}, 1),
        (Alignment(late_rows="count"), {}, 2),
        (Alignment(mode="observe"), {}, 1),
    ],
    ids=["default", "minPartitions", "maxRecordsPerPartition", "late rows are counted", "observed"],
)
def test_partition_read_alone_has_a_task_for_each_core_by_default(
    spark: SparkSession,
    kafka: KafkaBroker,
    backlog: str,
    tmp_path: Path,
    alignment: Alignment,
    options: dict[str, Any],
    tasks: int,
) -> None:
    seen: list[tuple[int, list[int]]] = []

    def take(batch: DataFrame, _: int) -> None:
        seen.append((batch.rdd.getNumPartitions(), sorted(row.offset for row in batch.select("offset").collect())))

    stream = align(kafka_stream(spark, kafka.bootstrap, backlog, **options), alignment)
    query = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path))
    assert query.trigger(availableNow=True).start().awaitTermination(120)
    assert [offset for _, offsets in seen for offset in offsets] == list(range(3 * LEAST))
    assert max(made for made, _ in seen) == tasks
