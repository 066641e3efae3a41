"""The environments of this folder's tests, with the server's extension: a Connect server of its
own, and programs in Scala.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import support
from lockgate_testbed.spark_connect import ConnectServer, client_python
from lockgate_testbed.spark_programs import compiled_scala
from support.environments import Environment, InScala, OverConnect
from support.left_out import or_left_out

CONF = {"spark.sql.shuffle.partitions": "1"}  # each more is a task and some files of state a batch


@pytest.fixture(scope="session")
def over_connect(server_jar: Path) -> Iterator[Environment]:
    or_left_out(client_python)
    with or_left_out(lambda: ConnectServer(CONF, jars=[server_jar])) as server:
        yield OverConnect(server)


@pytest.fixture(scope="session")
def in_scala(server_jar: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    source = Path(support.__path__[0]) / "StreamJob.scala"
    return InScala(compiled_scala(source, tmp_path_factory.mktemp("scala")), CONF, (server_jar,))


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.long) for name in ("connect", "scala")])
def environment(request: pytest.FixtureRequest) -> Environment:
    found: Environment = request.getfixturevalue({"connect": "over_connect", "scala": "in_scala"}[request.param])
    return found
