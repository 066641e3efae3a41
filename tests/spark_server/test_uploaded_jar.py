"""The jar and Spark's Kafka connector uploaded by a client, to a server that has neither."""

import json
from pathlib import Path

import pytest

from lockgate_testbed import jars
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer, client

pytestmark = pytest.mark.long

PROGRAM = Path(__file__).with_name("programs") / "uploads.py"
PATIENCE_S = 400.0
BARE = {"spark.driver.extraClassPath": ""}


def test_uploaded_jar_aligns_the_streams_of_its_session_only(
    server_jar: Path, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    program = (PROGRAM, tmp_path, kafka.bootstrap, skewed.name, server_jar, *jars.kafka_connector())
    with ConnectServer(conf=BARE) as bare:
        output = client("client", tmp_path / "log", *program, server=bare).wait(PATIENCE_S)
    found = json.loads(output.splitlines()[-1])

    assert (found["rows"], found["aligned"]) == (sum(skewed.counts()), True)
    assert "lockgate-kafka" in found["other session"]
