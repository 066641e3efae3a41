"""The environments of this folder's tests, with the server's extension: a Connect server of its
own, and programs in Scala.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import support
from lockgate_testbed.server_jar import server_jar
from lockgate_testbed.spark_connect import ConnectServer, client_python
from lockgate_testbed.spark_programs import compiled_scala
from support.environments import Environment, InScala, OverConnect
from support.left_out import or_left_out


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, as `make jar` makes it."""
    return or_left_out(lambda: server_jar(tmp_path_factory.mktemp("jar")))


@pytest.fixture(scope="session")
def over_connect(extension: Path) -> Iterator[Environment]:
    or_left_out(client_python)
    with or_left_out(lambda: ConnectServer(jars=[extension])) as server:
        yield OverConnect(server)


@pytest.fixture(scope="session")
def in_scala(extension: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    source = Path(support.__path__[0]) / "StreamJob.scala"
    return InScala(compiled_scala(source, tmp_path_factory.mktemp("scala")), jars=(extension,))


@pytest.fixture(params=["connect", "scala"])
def environment(request: pytest.FixtureRequest) -> Environment:
    found: Environment = request.getfixturevalue({"connect": "over_connect", "scala": "in_scala"}[request.param])
    return found
