"""Bad use is refused before the query runs, with the name of what is wrong and what to do."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter, StreamingQueryException

from lockgate_spark import Alignment, ConfigurationError, Coordinator, UnsupportedQuery, align, align_all, gate
from lockgate_spark.jvm.stream import limits_of
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.drivers import QUICK_START
from support.queries import WindowedCount, kafka_stream


@pytest.fixture
def stream(spark: SparkSession, kafka: KafkaBroker, topic: str) -> DataFrame:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 1_767_225_600_000, None, "x")])
    return kafka_stream(spark, kafka.bootstrap, topic)


@pytest.mark.parametrize(
    ("given", "hint"),
    [("5 minutes", "align(df, Alignment(max_drift='5 minutes'))"), ({"max_drift": 1}, "align(df, Alignment(…))")],
)
def test_an_alignment_that_is_none_is_refused_with_the_line_to_write(
    spark: SparkSession, given: object, hint: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        align(spark.readStream.format("rate").load(), given)  # type: ignore[arg-type]
    assert hint in str(refused.value)


@pytest.mark.parametrize("source", ["rate", "rate-micro-batch"])
def test_a_source_that_is_not_kafka_is_named_with_the_way_that_fits(spark: SparkSession, source: str) -> None:
    rate = spark.readStream.format(source).option("rowsPerBatch", 1).load()
    with pytest.raises(UnsupportedQuery, match=f'"{source}".*gate'):
        align(rate)


def test_a_file_source_is_refused_too(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedQuery, match='align\\(\\) needs format\\("kafka"\\)'):
        align(spark.readStream.schema("a int").json(str(tmp_path)))


def test_a_stream_whose_source_cannot_be_found_is_refused(stream: DataFrame, tmp_path: Path) -> None:
    found: list[Exception] = []

    def try_to_align(batch: DataFrame, _: int) -> None:
        streaming = DataFrame(batch._jdf, batch.sparkSession)
        try:
            align(streaming)
        except UnsupportedQuery as error:
            found.append(error)

    query = (
        stream.writeStream.foreachBatch(try_to_align)
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert found


def test_a_join_with_a_source_that_is_not_kafka_is_refused(spark: SparkSession, stream: DataFrame) -> None:
    rate = spark.readStream.format("rate").load()
    with pytest.raises(UnsupportedQuery, match='"rate"'):
        align(stream.join(rate, stream["offset"] == rate["value"]))


def test_kafka_forced_to_v1_is_refused(spark: SparkSession, stream: DataFrame) -> None:
    key = "spark.sql.streaming.disabledV2MicroBatchReaders"
    spark.conf.set(key, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
    try:
        with pytest.raises(UnsupportedQuery, match=key):
            align(stream)
    finally:
        spark.conf.unset(key)


def test_kafka_forced_to_v1_later_never_runs_unaligned(spark: SparkSession, stream: DataFrame, tmp_path: Path) -> None:
    key = "spark.sql.streaming.disabledV2MicroBatchReaders"
    aligned = WindowedCount(align(stream))
    spark.conf.set(key, "org.apache.spark.sql.kafka010.KafkaSourceProvider")
    try:
        with pytest.raises(StreamingQueryException):
            aligned.start(tmp_path).finish()
    finally:
        spark.conf.unset(key)
    assert aligned.counted == 0


class OldSpark:
    """A session of Spark 3.4, and its conf: all that lockgate asks of it before it is refused."""

    version = "3.4.4"

    def __init__(self, **conf: str) -> None:
        self._conf, self.conf, self.sparkSession = conf, self, self

    def get(self, key: str, default: str) -> str:
        return self._conf.get(key.rpartition(".")[2], default)


def test_an_older_spark_is_refused_before_anything_that_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    stream: Any = OldSpark()
    monkeypatch.setattr(SparkSession, "active", lambda: stream)
    group = Alignment(coordinator=Coordinator("http://127.0.0.1:1", group="g"))
    ways: list[Callable[[], object]] = [lambda: align(stream), lambda: align_all([stream], group)]
    for use in (*ways, lambda: gate(print, "timestamp", group)):
        with pytest.raises(UnsupportedQuery, match=r"Spark 3\.4\.4 .*is older than.* 3\.5, 4\.0"):
            use()


def test_connect_on_spark_35_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    stream: Any = type("DataFrame", (OldSpark,), {"version": "3.5.9", "__module__": "pyspark.sql.connect.dataframe"})()
    with pytest.raises(UnsupportedQuery, match=r"Spark Connect, Spark 3\.5\.9 .* Use a classic session"):
        align(stream)


def test_a_switch_that_is_off_is_off_on_an_older_spark_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream: Any = OldSpark(enabled="false")
    monkeypatch.setattr(SparkSession, "active", lambda: stream)
    assert align(stream) is stream
    assert gate(print, "timestamp") is print


def test_several_streams_are_taken_from_anything_that_gives_them(stream: DataFrame) -> None:
    assert len(align_all(each for each in [stream, stream])) == 2
    with pytest.raises(UnsupportedQuery, match=r"align_all\(\[df, …\]\): expected several DataFrames, not DataFrame"):
        align_all(stream)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedQuery, match="expected several DataFrames, not int"):
        align_all(3)  # type: ignore[arg-type]


def test_stream_options_are_refused_without_the_extension(
    spark: SparkSession, kafka: KafkaBroker, stream: DataFrame
) -> None:
    asks = kafka_stream(spark, kafka.bootstrap, "orders", lockgate__align="true", lockgate__maxDrift="1 minute")
    with pytest.raises(ConfigurationError, match=r"option lockgate\.\S+=.*, lockgate\.\S+=.*: align\(\) does not"):
        align(stream.union(asks))


@pytest.mark.parametrize(
    "option",
    {
        "maxOffsetsPerTrigger": "many",
        "minOffsetsPerTrigger": "few",
        "maxTriggerDelay": "soon",
        "kafkaConsumer.pollTimeoutMs": "long",
        "fetchOffset.numRetries": "often",
        "fetchOffset.retryIntervalMs": "short",
    }.items(),
)
def test_an_option_of_spark_that_is_no_number_is_named(
    spark: SparkSession, kafka: KafkaBroker, stream: DataFrame, topic: str, tmp_path: Path, option: tuple[str, str]
) -> None:
    name, value = option
    source = kafka_stream(spark, kafka.bootstrap, topic, **{name.replace(".", "__"): value})
    with pytest.raises(
        StreamingQueryException,
        match=rf"ConfigurationError: option {name}={value}: (expected a whole nu|Time must be)",
    ):
        WindowedCount(align(source)).start(tmp_path).finish()
    assert all_ended()


@pytest.mark.skipif(
    "realTime" not in signature(DataStreamWriter.trigger).parameters, reason="this Spark has no real-time trigger"
)
def test_a_real_time_trigger_is_refused(stream: DataFrame, tmp_path: Path) -> None:
    writer = (
        align(stream).writeStream.format("console").outputMode("update").option("checkpointLocation", str(tmp_path))
    )
    with pytest.raises(StreamingQueryException, match="RealTimeTrigger: real-time mode refuses rate limits"):
        writer.trigger(realTime="5 seconds").start().awaitTermination(120)


@pytest.mark.long
def test_connect_server_without_the_extension_is_refused() -> None:
    """In a process of its own: one process has either a classic session or a Connect one."""
    script = """
        from pyspark.sql import SparkSession
        from lockgate_spark import UnsupportedQuery, align
        spark = SparkSession.builder.remote("local[1]").getOrCreate()
        try:
            align(spark.readStream.format("rate").load())
        except UnsupportedQuery as error:
            print("refused:", error)
        spark.stop()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "JAVA_TOOL_OPTIONS": QUICK_START},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lacks = "refused: this Spark Connect server has no lockgate extension: put lockgate-spark-server"
    assert lacks in done.stdout, done.stderr[-2000:]


def test_a_budget_of_nothing_is_refused(
    spark: SparkSession, kafka: KafkaBroker, stream: DataFrame, topic: str, tmp_path: Path
) -> None:
    nothing = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=0)))
    with pytest.raises(StreamingQueryException, match="maxOffsetsPerTrigger"):
        nothing.start(tmp_path).finish()
    assert all_ended()


def all_ended() -> bool:
    """Spark stops no source of a query that cannot begin, so nobody else would end its run."""
    return all(one.closed for one in running.all_of(AlignedRun))


def test_an_option_for_another_trigger_is_warned_of_when_the_query_starts(
    stream: DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = align(stream, Alignment(max_wait="1 hour")).writeStream.format("noop")
    query = writer.option("checkpointLocation", str(tmp_path)).trigger(processingTime="0 seconds").start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()
    assert (
        "Alignment(max_wait='1 hour') has no effect here: it only applies under trigger(availableNow=True)"
        in caplog.text
    )


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="this Spark has no limit in bytes")
def test_a_limit_that_is_no_number_of_offsets_is_refused(spark: SparkSession) -> None:
    """No Kafka connector that is known sets one; one that does must not be taken for one without a
    limit.
    """
    limits = spark._jvm.org.apache.spark.sql.connector.read.streaming.ReadLimit
    assert limits_of(limits.allAvailable()) == (None, None)
    with pytest.raises(UnsupportedQuery, match="limited by ReadMaxBytes"):
        limits_of(limits.maxBytes(1_000_000))


def test_streams_of_one_query_with_different_alignments_are_refused(
    spark: SparkSession, kafka: KafkaBroker, stream: DataFrame, topic: str, tmp_path: Path
) -> None:
    again = kafka_stream(spark, kafka.bootstrap, topic, startingOffsets="latest")
    unequal = align(stream, Alignment(max_drift="1 minute")).union(
        align(again, Alignment(max_drift="2 minutes", late_rows="count"))
    )
    differ = (
        r"Alignment\(max_drift='1 minute', late_rows=None\) and Alignment\(max_drift='2 minutes', "
        r"late_rows='count'\)"
    )
    with pytest.raises(StreamingQueryException, match=differ):
        WindowedCount(unequal).start(tmp_path).finish()
    assert all_ended()


def test_one_bad_stream_of_several_refuses_all(spark: SparkSession, stream: DataFrame) -> None:
    with pytest.raises(UnsupportedQuery):
        align_all([stream, spark.range(1)])
