"""Which Python the host runs on, of those that are named in several places."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lockgate_testbed.errors import JdkMissing
from lockgate_testbed.java import java
from lockgate_testbed.spark_programs import spark_home
from support.left_out import or_left_out

SOURCE = Path(__file__).with_name("programs") / "ChosenPython.java"
PACKAGE = "io.lockgate.spark.ChosenPython"
# from what counts most to what counts least
CONF = ("spark.lockgate.python", "spark.pyspark.driver.python", "spark.pyspark.python")
ENVIRONMENT = ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON")
Chosen = Callable[..., list[str]]


@pytest.fixture(scope="module")
def chosen(server_jar: Path, tmp_path_factory: pytest.TempPathFactory) -> Chosen:
    """The Pythons that an environment chooses with these keys of the conf, with all but the first,
    and so on to none.
    """
    jvm, classes = or_left_out(java), tmp_path_factory.mktemp("classes")
    classpath = os.pathsep.join([str(classes), str(server_jar), str(spark_home() / "jars" / "*")])
    or_left_out(lambda: compiled(classpath, classes))

    def choose(environment: dict[str, str], *conf: str) -> list[str]:
        command = [jvm, "-XX:TieredStopAtLevel=1", "-cp", classpath, PACKAGE, *conf]
        rest = {key: value for key, value in os.environ.items() if key not in ENVIRONMENT}
        done = subprocess.run(command, env={**rest, **environment}, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return choose


def compiled(classpath: str, classes: Path) -> None:
    javac = shutil.which("javac")
    if javac is None:
        raise JdkMissing("no javac on the PATH")
    subprocess.run([javac, "-cp", classpath, "-d", str(classes), str(SOURCE)], check=True)


def test_the_python_is_the_first_that_is_named_by_lockgate_s_conf_spark_s_conf_and_the_environment(
    chosen: Chosen,
) -> None:
    environment = {name: f"/by/{name}/python3" for name in ENVIRONMENT}

    assert chosen(environment, *CONF) == [*(f"/by/{key}" for key in CONF), "/by/PYSPARK_DRIVER_PYTHON/python3"]
    assert chosen({}) == ["python3"]


def test_a_notebook_s_command_is_no_python(chosen: Chosen) -> None:
    given = {"PYSPARK_DRIVER_PYTHON": "/usr/bin/jupyter", "PYSPARK_PYTHON": "/by/PYSPARK_PYTHON/python3"}

    assert chosen(given) == ["/by/PYSPARK_PYTHON/python3"]
