"""The real collaborators of the tests: one Kafka, one Redis and one Spark for each test process.

`make test` runs several such processes side by side (docs/testing.md). Each starts a server when
its first test asks for it, and stops the server when its last test has ended.

Where the machine lacks one, its tests are left out with the reason and the remedy. With CI=true
they fail instead: a build that tests less than it should is not green.
"""

import importlib.metadata
import logging
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from lockgate_coordinator.service import pulse
from lockgate_testbed import jars
from lockgate_testbed.java import OPTIONS, java
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import PORTS_OF, share_of_ports
from lockgate_testbed.prometheus import prometheus_binary
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.spark import session
from lockgate_testbed.spark_connect import ConnectServer, client_python
from support.authorities import read_once
from support.left_out import or_left_out
from support.long_first import seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How long an example takes is the machine's matter, and no property of what is tested.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")
# Fixture → marker: `-m "not kafka"` leaves out whatever needs a broker, without a mark on every
# test.
MARKS = {"kafka": "kafka", "redis_server": "redis", "promtool": "prometheus"}


read_once()
# A test's JVM does not live long enough for the optimizing compiler to pay: without it the tests on
# Spark take a third less processor time.
os.environ.setdefault(OPTIONS, "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
# "gw0", "gw1" and so on where pytest-xdist runs the tests in several processes.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    side_by_side = int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    os.environ[PORTS_OF] = share_of_ports(int(worker.removeprefix("gw")) % side_by_side, side_by_side)


@pytest.fixture(autouse=True)
def tireless(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine stops this process now and then. Clocks that tests set do not show it, so it
    must not lengthen leases.
    """
    if not request.module.__name__.endswith("test_pulse"):
        monkeypatch.setattr(pulse, "DEAF_S", 3_600.0)


@pytest.fixture(autouse=True)
def plain_log_texts(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """PySpark's own loggers make JSON of whatever their handlers get, and pytest has one handler
    for all tests. `caplog.text` would be JSON in each test beside or after such a logger.
    """
    caplog.handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    monkeypatch.setattr(caplog.handler, "setFormatter", lambda formatter: None)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests by the servers that they ask for; put the files that take longest first.

    All tests that use Spark run in one process, whose JVM is warm after the first of them. The
    others run file by file.
    """
    for item in items:
        asked = getattr(item, "fixturenames", ())
        for fixture, mark in MARKS.items():
            if fixture in asked:
                item.add_marker(mark)
        item.add_marker(pytest.mark.xdist_group("spark" if "spark" in asked else str(item.path)))
    items.sort(key=lambda item: -seconds(item.path))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """`Flink: n traces replayed: …`, from the reports of all processes."""
    from flink_replay.runner import REPORTED, Outcome, summary

    reports = [each for found in terminalreporter.stats.values() for each in found]
    outcomes = [
        Outcome(difference, tuple(deviations))
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, (difference, deviations) in report.user_properties
        if name == REPORTED
    ]
    if outcomes:
        terminalreporter.write_line(f"Flink: {summary(outcomes)}")


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


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name of the test's own; the topic itself is the test's to create."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", request.node.name)[:200]
