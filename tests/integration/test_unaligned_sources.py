"""An aligned topic beside one that was left out of it, in one query on a real broker."""

import json
import logging
from pathlib import Path

import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryException

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS, SkewedTopic
from support.queries import WindowedCount, kafka_stream
from support.rows import Rows

RECORDS = 1_200


@pytest.fixture(scope="module")
def two_topics(spark: SparkSession, kafka: KafkaBroker) -> tuple[DataFrame, DataFrame]:
    """The second one's records are 12 hours older."""
    specs = (
        SkewedTopic("beside-orders", weights=(1, 2, 4), records=RECORDS, t0_ms=T0_MS + 12 * HOUR_MS),
        SkewedTopic("beside-payments", weights=(1, 2, 4), records=RECORDS),
    )
    for spec in specs:
        topics.load(kafka.bootstrap, spec)
    orders, payments = (
        kafka_stream(spark, kafka.bootstrap, spec.name, maxOffsetsPerTrigger=RECORDS // 3) for spec in specs
    )
    return orders, payments


def test_a_topic_that_was_left_out_is_named_and_the_line_that_is_given_loses_nothing(
    two_topics: tuple[DataFrame, DataFrame], tmp_path: Path
) -> None:
    orders, payments = two_topics
    with pytest.raises(StreamingQueryException) as error:
        WindowedCount(align(orders).union(payments)).start(tmp_path / "left-out").finish()
    assert "KafkaV2[Subscribe[beside-payments]]" in str(error.value)
    assert (
        'lockgate_spark.align(spark.readStream.format("kafka").option("subscribe", "beside-payments")….load())'
        in str(error.value)
    )
    assert "beside-orders" not in str(error.value).partition("JVM stacktrace")[0]
    assert (
        WindowedCount(align(orders).union(align(payments))).start(tmp_path / "aligned").finish().counted == 2 * RECORDS
    )


@pytest.mark.long
def test_an_unaligned_stream_that_is_only_warned_of_loses_rows_and_the_log_has_said_so(
    spark: SparkSession,
    kafka: KafkaBroker,
    two_topics: tuple[DataFrame, DataFrame],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    orders, every = two_topics[0], json.dumps({"beside-payments": [*range(3)]})
    payments = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap).option("assign", every)
    )
    older = payments.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", RECORDS // 3).load()
    let_be = align(orders, Alignment(other_event_time="warn")).union(older)
    assert WindowedCount(let_be).start(tmp_path).finish().counted < 2 * RECORDS
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert any(f'.option("assign", {json.dumps(every)})….load())' in text for text in warnings), (
        "as it can be put into the code"
    )


@pytest.mark.long
def test_a_source_that_is_not_kafka_is_warned_of_and_runs(
    spark: SparkSession, two_topics: tuple[DataFrame, DataFrame], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "one.json").write_text('{"timestamp": "2026-01-01T00:00:00Z"}\n')
    files = spark.readStream.schema("timestamp timestamp").json(str(tmp_path / "files"))
    both = align(two_topics[0]).select("timestamp").union(files)
    WindowedCount(both).start(tmp_path / "checkpoint").finish()
    (said,) = [record.getMessage() for record in caplog.records if "is not" in record.getMessage()]
    assert "FileStreamSource" in said
    assert "its own withWatermark" in said


@pytest.mark.long
def test_a_join_with_a_topic_that_has_a_watermark_of_its_own_runs_without_a_warning(
    two_topics: tuple[DataFrame, DataFrame], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    orders, payments = (df.withWatermark("timestamp", "1 minute") for df in (align(two_topics[0]), two_topics[1]))
    near = F.expr("o.offset = p.offset AND o.timestamp BETWEEN p.timestamp AND p.timestamp + INTERVAL 1 HOUR")
    rows = Rows(orders.alias("o").join(payments.alias("p"), near).select("o.topic", "o.partition", "o.offset"))
    with caplog.at_level(logging.INFO, "lockgate"):
        assert rows.start(tmp_path).finish().query is not None
    (said,) = [record for record in caplog.records if "is not aligned" in record.getMessage()]
    assert said.levelname == "INFO"
