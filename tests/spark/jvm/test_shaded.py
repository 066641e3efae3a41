"""Kafka's classes under another name, as some vendors of Spark ship them."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lockgate_spark.jvm.compiler import new_java, new_kafka_log
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker

PREFIX = "kafkashaded."
T0 = 1_767_225_600_000


@pytest.fixture
def loader(spark: SparkSession) -> Iterator[Any]:
    """A class loader that has them under that name; the thread's own, for so long."""
    jvm: Any = spark._jvm
    connector = jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider()
    shaded = new_java(jvm, connector, "support", "ShadedKafka", PREFIX)
    thread = jvm.java.lang.Thread.currentThread()
    before = thread.getContextClassLoader()
    thread.setContextClassLoader(shaded)
    yield shaded
    thread.setContextClassLoader(before)


def test_shaded_connector_is_read_by_its_own_class_names(
    spark: SparkSession, kafka: KafkaBroker, topic: str, loader: Any
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n, None, b"x") for n in range(3)])
    name = f"{PREFIX}org.apache.kafka.common.serialization.ByteArrayDeserializer"
    connector = loader.loadClass(name).getConstructors()[0].newInstance(None)
    params = spark._jvm.java.util.HashMap()  # type: ignore[union-attr]
    for key, value in {
        "bootstrap.servers": kafka.bootstrap,
        "key.deserializer": name,
        "value.deserializer": name,
    }.items():
        params.put(key, value)
    java = new_kafka_log(spark.sparkContext._gateway, connector, params)
    log = KafkaSplitLog(java)
    log.set_splits([f"{topic}-0"])
    assert log.requests.first_at(T0 + 2)[f"{topic}-0"].offset == 2
    assert {split: head.event_time for split, head in log.heads({f"{topic}-0": 1}, {f"{topic}-0": 3}).items()} == {
        f"{topic}-0": T0 + 1
    }
    log.requests.close()
    assert (
        java.getClass().getDeclaredField("admin").getType().getName() == f"{PREFIX}org.apache.kafka.clients.admin.Admin"
    )
