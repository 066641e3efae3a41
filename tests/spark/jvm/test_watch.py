"""The wait for the next record of a Kafka source."""

from typing import Any

from pyspark.sql import SparkSession

from lockgate_spark.jvm.compiler import new_kafka_log
from lockgate_spark.jvm.stream import Stream
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker


def watch(spark: SparkSession, kafka: KafkaBroker) -> Stream:
    jvm: Any = spark._jvm
    connector = jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider()
    deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
    params = jvm.java.util.HashMap()
    for key, value in (
        ("bootstrap.servers", kafka.bootstrap),
        ("key.deserializer", deserializer),
        ("value.deserializer", deserializer),
    ):
        params.put(key, value)
    stream = object.__new__(Stream)
    stream._watched = None
    stream._watch = new_kafka_log(spark.sparkContext._gateway, connector, params, "KafkaWatch")
    return stream


def test_watch_without_splits_waits_until_there_are_some(spark: SparkSession, kafka: KafkaBroker, topic: str) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, 1_767_225_600_000, None, b"x")])
    one = watch(spark, kafka)
    assert not one.comes({}, 0.01)
    while not one.comes({f"{topic}-0": 0}, 1.0):  # the connection is made
        pass
    assert not one.comes({}, 0.01), "and when the last split is gone"
    one._watch.close()
