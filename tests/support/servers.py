"""The real collaborators of the tests: one Kafka, one Redis and one Spark for each test process.

`make test` runs several such processes side by side (docs/internals/testing.md). Each starts a
server when its first test asks for it, and stops the server when its last test has ended.

Where the machine lacks one, its tests are left out with the reason and the remedy. With CI=true
they fail instead: a build that tests less than it should is not green.
"""

import importlib.metadata
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lockgate_testbed import jars
from lockgate_testbed.java import OPTIONS, java
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import PORTS_OF, share_of_ports
from lockgate_testbed.prometheus import prometheus_binary
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.server_jar import server_jar as built_jar
from lockgate_testbed.spark import session
from lockgate_testbed.spark_connect import ConnectServer, client_python
from support.authorities import read_once
from support.left_out import or_left_out

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

read_once()
# A test's JVM does not live long enough for the optimizing compiler to pay: without it the tests on
# Spark take a third less processor time.
os.environ.setdefault(OPTIONS, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# "gw0", "gw1" and so on where pytest-xdist runs the tests in several processes.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    side_by_side = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ[PORTS_OF] = share_of_ports(int(worker.removeprefix("gw")) % side_by_side, side_by_side)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaBroker]:
    """A broker for all tests; take a `topic` of your own, and start a `KafkaBroker` of your own to
    stop it.
    """
    with or_left_out(_broker) as broker:
        yield broker


def _broker() -> KafkaBroker:
    jars.kafka_broker()  # what is missing shows here already
    java()
    return KafkaBroker()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A Redis for all tests; flush it, or use keys of your own."""
    with or_left_out(RedisServer) as server:
        yield server


@pytest.fixture(scope="session")
def connect_server() -> Iterator[ConnectServer]:
    """A plain Spark Connect server, in a process of its own, and a Python without a JVM for its
    clients (`lockgate_testbed.spark_connect.client`).
    """
    or_left_out(client_python)
    with or_left_out(ConnectServer) as server:
        yield server


@pytest.fixture(scope="session")
def server_jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar for Spark's server, built once for each test process as `make jar` makes it."""
    return or_left_out(lambda: built_jar(tmp_path_factory.mktemp("jar")))


@pytest.fixture(scope="session")
def promtool() -> str:
    """The path of Prometheus's own tool. Where that is there, `PrometheusServer` starts too."""
    return or_left_out(lambda: [prometheus_binary(name) for name in ("prometheus", "promtool")])[1]


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """A classic local session with two cores and the Kafka connector. One shuffle partition: each
    more is a task and some files of state a batch.
    """
    plain_files = importlib.metadata.version("pyspark") >= "4.2"
    found = or_left_out(
        lambda: session("lockgate tests", 2, {"spark.sql.shuffle.partitions": "1"}, plain_files=plain_files)
    )
    yield found
    found.stop()
