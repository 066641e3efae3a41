import json
from pathlib import Path

import pytest

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer, client

ASKS = """
import json, shutil, sys
from importlib.util import find_spec
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", sys.argv[1])
stream = reader.option("subscribe", sys.argv[2])
query = stream.option("startingOffsets", "earliest").load().groupBy("partition").count().writeStream.format("memory")
query = query.outputMode("complete").queryName("counts").trigger(availableNow=True).start()
query.awaitTermination()
counts = [row["count"] for row in spark.table("counts").orderBy("partition").collect()]
print(json.dumps({"counts": counts, "py4j": find_spec("py4j") is not None, "java": shutil.which("java")}))
"""


@pytest.mark.long
def test_a_client_without_py4j_and_java_streams_from_kafka_over_a_connect_server(
    connect_server: ConnectServer, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    spec = SkewedTopic(topic, weights=(1, 4), records=1_000)
    topics.load(kafka.bootstrap, spec)

    said = client("a client", tmp_path / "log", "-c", ASKS, kafka.bootstrap, topic, server=connect_server).wait(120)

    assert json.loads(said.splitlines()[-1]) == {"counts": spec.counts(), "py4j": False, "java": None}
