"""The proxy before Spark's own Kafka source, with the Java object alone replaced."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import align
from lockgate_spark.jvm.failures import Selected
from lockgate_spark.jvm.stream import Stream
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import kafka_stream

NOW_S, ASKED_S = 1_767_225_600, 600


def test_available_now_reads_the_clock_before_spark_asks_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    # A record may come while Kafka is asked: with a later time its producer would be taken to have
    # been heard out.
    clock = [NOW_S]
    calls: list[str] = []

    def asks() -> None:
        calls.append("prepareForTriggerAvailableNow")
        clock[0] += ASKED_S

    monkeypatch.setattr("lockgate_spark.jvm.stream.time", SimpleNamespace(time=lambda: clock[0]))
    stream = object.__new__(Stream)  # what it needs besides comes from a running JVM
    stream._java = SimpleNamespace(prepareForTriggerAvailableNow=asks)
    stream.prepareForTriggerAvailableNow()
    assert calls == ["prepareForTriggerAvailableNow"]
    assert stream.fixed_at == NOW_S * 1000


@pytest.mark.parametrize(("active", "told"), [(False, ""), (True, "planning failed: KeyError: 't-0'")])
def test_failed_plan_during_query_stop_is_a_stop_and_else_an_error(active: bool, told: str) -> None:
    def closed(*_: object) -> None:
        raise KeyError("t-0")

    stream = object.__new__(Stream)
    stream._gateway, stream._index, stream._watch = None, 0, SimpleNamespace(topics=None)
    stream.selected = Selected("b:9092", "subscribe", "t")
    stream._aligned = SimpleNamespace(  # type: ignore[assignment]
        run=SimpleNamespace(is_active=lambda: active), alignment=SimpleNamespace(mode="align"), latest_offset=closed
    )
    assert stream.apply("latestOffset", '{"t": {"0": 5}}') == told


def test_jvm_holds_no_answer_to_thread_of_query_back(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, NOW_S * 1000, None, "x")])
    sends_at_once: list[bool] = []

    def look(_: DataFrame, __: int) -> None:
        client = spark.sparkContext._gateway.java_gateway_server.getCallbackClient()  # type: ignore[union-attr]
        sends_at_once.append(client.getPerThreadConnection().getSocket().getTcpNoDelay())

    writer = align(kafka_stream(spark, kafka.bootstrap, topic)).writeStream.foreachBatch(look)
    writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert sends_at_once == [True]
