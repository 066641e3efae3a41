"""An error reaches Spark as one sentence, first and once, with its cause."""

import logging
import socket
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQueryException

from lockgate_spark import Alignment, Coordinator, UnsupportedQuery, align, gate
from lockgate_spark.jvm.failures import MOST_CHARACTERS, Selected, java_cause, sentence
from lockgate_spark.jvm.stand_in import SparkProxy
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.queries import WindowedCount, kafka_stream

T0 = 1_767_225_600_000


@pytest.fixture
def stream(spark: SparkSession, kafka: KafkaBroker, topic: str) -> DataFrame:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0, None, "x")])
    return kafka_stream(spark, kafka.bootstrap, topic)


def refused(df: DataFrame, checkpoint: Path) -> StreamingQueryException:
    with pytest.raises(StreamingQueryException) as error:
        WindowedCount(df).start(checkpoint).finish()
    return error.value


def first_line(error: BaseException) -> str:
    return str(error).splitlines()[0]


def test_the_first_line_says_what_is_wrong_and_nothing_says_it_again(
    stream: DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    aligned = align(stream, Alignment(max_drift="1 minute")).union(align(stream, Alignment(max_drift="2 minutes")))
    error = refused(aligned, tmp_path)
    assert "terminated with exception: ConfigurationError: streams of one query are aligned with" in first_line(error)
    assert str(error).count("streams of one query") == 1
    assert "Traceback" not in str(error)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_the_traceback_is_in_the_log_at_debug(
    stream: DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "lockgate")
    refused(align(stream, Alignment(max_drift="1 minute")).union(align(stream)), tmp_path)
    (record,) = [record for record in caplog.records if record.exc_info]
    assert (record.name, record.levelno) == ("lockgate", logging.DEBUG)
    assert record.exc_info is not None
    assert "toMicroBatchStream" in [frame.name for frame in traceback.extract_tb(record.exc_info[2])]


def test_query_that_spark_cannot_start_is_refused_in_one_sentence(stream: DataFrame, tmp_path: Path) -> None:
    writer = align(stream).writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    with pytest.raises(IllegalArgumentException) as error:
        writer.trigger(continuous="1 second").start()
    assert str(error.value).startswith("UnsupportedQuery: Trigger.Continuous reads without batches")
    assert "\n" not in str(error.value)


def test_missing_topic_is_named_with_brokers_and_similar_topic(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, "payments-made", 1)
    error = refused(align(kafka_stream(spark, kafka.bootstrap, "payment-made")), tmp_path)
    assert f'KafkaFailed: the brokers {kafka.bootstrap} have no topic "payment-made" (did you mean payments-made?)' in (
        first_line(error)
    )
    cause = error._origin.getCause().getCause()  # type: ignore[attr-defined]
    assert "UnknownTopicOrPartitionException" in cause.toString()


def test_brokers_that_do_not_answer_are_named(spark: SparkSession, tmp_path: Path) -> None:
    soon = {"kafka__default__api__timeout__ms": "500", "kafka__request__timeout__ms": "400"}
    error = refused(align(kafka_stream(spark, "127.0.0.1:9", "away", **soon)), tmp_path)
    assert "KafkaFailed: the brokers 127.0.0.1:9 do not answer" in first_line(error)
    assert "check kafka.bootstrap.servers" in first_line(error)


def test_stop_while_the_broker_is_away_is_no_error_and_is_not_logged(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and answers nothing
        away = kafka_stream(spark, f"127.0.0.1:{silent.getsockname()[1]}", "away")
        query = WindowedCount(align(away)).start(tmp_path, available_now=False).query
        assert query is not None
        silent.accept()[0].close()  # a client of the query has called
        query.stop()
    assert query.exception() is None
    assert not [record for record in caplog.records if record.name.startswith("py4j")]


def test_stop_amid_a_foreachbatch_function_is_not_logged(
    spark: SparkSession, stream: DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    inside = threading.Event()

    def sleep(batch: DataFrame, _: int) -> None:
        inside.set()
        batch.sparkSession._jvm.java.lang.Thread.sleep(300_000)

    query = align(stream).writeStream.foreachBatch(sleep).option("checkpointLocation", str(tmp_path)).start()
    assert inside.wait(120)
    query.stop()
    assert query.exception() is None
    assert not [record for record in caplog.records if record.name.startswith("py4j")]


def test_a_gate_that_is_refused_says_so_in_one_line_and_py4j_says_nothing(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CoordinatorProcess() as coordinator:
        alignment = Alignment(coordinator=Coordinator(coordinator.url, group="g"))
        gated = gate(lambda batch, _: None, "value = 0", alignment)
        writer = spark.readStream.format("rate").load().writeStream.foreachBatch(gated)
        with pytest.raises(StreamingQueryException, match="it is of type boolean"):
            writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination(120)
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.getMessage().startswith("ConfigurationError: gate(event_time='value = 0'): it is of type boolean")


class Sleeper(SparkProxy):
    """A `Callable` that fails as what it calls does."""

    calls: Callable[[], object]

    def call(self) -> object:
        return self.calls()


def thrown(spark: SparkSession, calls: Callable[[], object]) -> Any:
    """The Java error that a caller in Java gets."""
    sleeper = Sleeper(spark._jsparkSession, spark.sparkContext._gateway, ["java.util.concurrent.Callable"], ["call"])
    sleeper.calls = calls  # type: ignore[method-assign]
    with pytest.raises((Py4JJavaError, IllegalArgumentException)) as error:
        sleeper.java_proxy.call()
    return java_cause(error.value)


def test_what_an_interrupt_causes_is_one_for_spark(spark: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    threads = spark._jvm.java.lang.Thread

    def interrupted() -> None:
        threads.currentThread().interrupt()
        threads.sleep(1)

    found = thrown(spark, interrupted)
    assert found.toString() == "java.io.UncheckedIOException: java.io.InterruptedIOException: query.stop()"
    assert not [record for record in caplog.records if record.name.startswith("py4j")]


def test_the_cause_of_an_error_in_java_is_kept(spark: SparkSession) -> None:
    found = thrown(spark, lambda: spark._jvm.java.lang.Integer.parseInt("x"))
    assert found.getMessage() == 'planning failed: NumberFormatException: For input string: "x"'
    assert found.getCause().toString().startswith("java.lang.NumberFormatException")


def test_a_text_of_any_length_crosses_as_one_short_line() -> None:
    long = UnsupportedQuery("\n".join(["at org.apache.kafka"] * 10_000))
    assert len(sentence(long)) == MOST_CHARACTERS
    assert "\n" not in sentence(long)


def test_an_error_that_nobody_expected_is_named_by_its_kind() -> None:
    assert sentence(KeyError("a-0")) == "planning failed: KeyError: 'a-0'"


def test_an_error_that_is_none_of_kafka_stays_what_it_is() -> None:
    selected = Selected("b:9092", "subscribe", "orders")
    for error in (UnsupportedQuery("no"), KeyError("a"), Py4JError("the JVM is gone")):
        assert selected.explained(error) is error
