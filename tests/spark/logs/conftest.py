"""Real split logs."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from lockgate_spark.jvm.compiler import new_kafka_log
from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_testbed.kafka import KafkaBroker
from support.real_logs import Open


@pytest.fixture(autouse=True)
def sample_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of what is there is waited for as long as a busy broker may take; by default a
    second.
    """
    monkeypatch.setattr("lockgate_spark.logs.requests._SAMPLE_MS", 60_000)


@pytest.fixture
def open_log(spark: SparkSession, kafka: KafkaBroker) -> Iterator[Open]:
    """Opens logs with Kafka's client params, dots written as two underscores; they are closed at
    the end.
    """
    opened: list[KafkaSplitLog] = []
    gateway = spark.sparkContext._gateway  # type: ignore[attr-defined]

    def open_(**params: str) -> KafkaSplitLog:
        java = gateway.jvm.java.util.HashMap()
        deserializer = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
        fixed = {
            "bootstrap__servers": kafka.bootstrap,
            "key__deserializer": deserializer,
            "value__deserializer": deserializer,
        }
        for key, value in {**fixed, "auto__offset__reset": "earliest", "max__poll__records": "1", **params}.items():
            java.put(key.replace("__", "."), value)
        connector = gateway.jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider()
        opened.append(KafkaSplitLog(new_kafka_log(gateway, connector, java)))
        return opened[-1]

    yield open_
    for log in opened:
        log.requests.close()
