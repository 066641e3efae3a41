"""One Connect server with the jar for each test process, and programs of clients without a JVM."""

import importlib.metadata
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate_testbed import jars, topics
from lockgate_testbed.errors import JdkMissing
from lockgate_testbed.java import java
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark import PLAIN_FILES
from lockgate_testbed.spark_connect import ConnectServer, client
from lockgate_testbed.spark_programs import spark_home
from support.left_out import or_left_out

PROGRAMS = Path(__file__).with_name("programs")
PATIENCE_S = 400.0  # on a machine that does other things
RECORDS = 1_500


@pytest.fixture(scope="session")
def beside_the_jar(server_jar: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Compiles a class of `programs` that is in the jar's package, and gives the command of its
    `main`.
    """
    jvm, classes = or_left_out(java), tmp_path_factory.mktemp("classes")
    classpath = os.pathsep.join([str(classes), str(server_jar), str(spark_home() / "jars" / "*")])

    def command(name: str) -> list[str]:
        javac = shutil.which("javac")
        if javac is None:
            raise JdkMissing("no javac on the PATH")
        subprocess.run([javac, "-cp", classpath, "-d", str(classes), str(PROGRAMS / f"{name}.java")], check=True)
        return [jvm, "-XX:TieredStopAtLevel=1", "-cp", classpath, f"io.lockgate.spark.{name}"]

    return lambda name: or_left_out(lambda: command(name))


@pytest.fixture(scope="session")
def shared_server(server_jar: Path) -> Iterator[ConnectServer]:
    """A Connect server whose only setting for lockgate is the jar."""
    # A Python of the server may take long to start beside other tests.
    conf = {"spark.python.authenticate.socketTimeout": "180s", "spark.sql.shuffle.partitions": "1"}
    plain = importlib.metadata.version("pyspark") >= "4.2"  # as the session of `support.servers`
    found = [server_jar, *(jars.plain_files() if plain else ())]
    with ConnectServer(jars=found, conf={**conf, **(PLAIN_FILES if plain else {})}) as started:
        yield started


@pytest.fixture
def server(shared_server: ConnectServer) -> ConnectServer:
    """The server, started again if the test before has killed it."""
    shared_server.start()
    return shared_server


@pytest.fixture(scope="session")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    """A topic whose partitions are apart: one starts six hours late, and one is empty."""
    spec = SkewedTopic("skewed-over-connect", weights=(1, 2, 4), records=RECORDS, empty=True, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture(scope="session")
def said(
    shared_server: ConnectServer, kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """Runs a program of a client, with the brokers and what else is given, and gives the JSON that
    it prints last.
    """

    def run(program: str, *arguments: object) -> Any:
        shared_server.start()  # again, if a test has killed it
        folder = tmp_path_factory.mktemp(program)
        command = (PROGRAMS / f"{program}.py", folder, kafka.bootstrap, *arguments)
        output = client(program, folder / "log", *command, server=shared_server).wait(PATIENCE_S)
        return json.loads(output.splitlines()[-1])

    return run
