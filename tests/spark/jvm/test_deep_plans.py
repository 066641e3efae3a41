"""Plans of hundreds of nodes: Spark walks them, so that neither Python's stack nor the calls into
the JVM grow with them.
"""

from collections.abc import Callable
from typing import Any

import pyspark.sql.functions as F
import pytest
from py4j.clientserver import JavaClient
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import align
from lockgate_spark.jvm.watermarks import query_watermarks

NODES = 500  # Python gives up at 1,000 calls within each other


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], int]:
    """How many calls into the JVM something takes."""
    send, counted = JavaClient.send_command, [0]

    def counting(self: Any, command: str, *arguments: Any, **named: Any) -> Any:
        counted[0] += not command.startswith(
            "m\n"
        )  # those forget what Python has no use for any more, whenever it finds the time
        return send(self, command, *arguments, **named)

    def of(work: Callable[[], object]) -> int:
        before = counted[0]
        work()
        return counted[0] - before

    monkeypatch.setattr(JavaClient, "send_command", counting)
    return of


@pytest.fixture
def source(spark: SparkSession) -> DataFrame:
    """Kafka's columns; no broker is asked before a query runs."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", "127.0.0.1:9")
        .option("subscribe", "deep")
        .load()
    )


def chained(df: DataFrame, nodes: int) -> DataFrame:
    """One `withColumn` above the other."""
    for _ in range(nodes):
        df = df.withColumn("timestamp", F.col("timestamp"))
    return df


def test_deep_plan_needs_no_more_jvm_calls_than_a_flat_one(
    source: DataFrame, calls: Callable[[Callable[[], object]], int]
) -> None:
    align(source)  # what is compiled and imported once
    flat, deep = chained(source, 1), chained(source, NODES)
    assert calls(lambda: align(deep)) == calls(lambda: align(flat))


def test_a_watermark_is_followed_down_a_deep_plan_at_the_same_price(
    spark: SparkSession, source: DataFrame, calls: Callable[[Callable[[], object]], int]
) -> None:
    def followed(nodes: int) -> int:
        plan = chained(source, nodes).withWatermark("timestamp", "1 minute")._jdf.queryExecution().analyzed()
        found: list[Any] = []
        price = calls(lambda: found.extend(query_watermarks(plan, spark._jvm, int)))
        assert [(each.column, each.delay_ms, [origin.column for origin in each.origins]) for each in found] == [
            ("timestamp", 60_000, ["timestamp"])
        ]
        return price

    followed(1)  # compiles
    assert followed(1) == followed(NODES)


def test_a_column_that_each_of_many_nodes_uses_twice_is_followed_once(spark: SparkSession, source: DataFrame) -> None:
    df = source.selectExpr("timestamp AS a", "timestamp AS b")
    for _ in range(60):  # 2^60 ways down
        df = df.selectExpr("greatest(a, b) AS a", "least(a, b) AS b")
    (found,) = query_watermarks(df.withWatermark("a", "1 minute")._jdf.queryExecution().analyzed(), spark._jvm, int)
    (origin,) = found.origins
    assert (origin.column, origin.text) == (None, "greatest(a, b)")
    assert len(origin.unaligned) == 1
