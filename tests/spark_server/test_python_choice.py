"""Which Python the host runs on, of those that are named in several places."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

# from what counts most to what counts least
CONF = ("spark.lockgate.python", "spark.pyspark.driver.python", "spark.pyspark.python")
ENVIRONMENT = ("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON")
JavaProgram = Callable[[str], list[str]]
Chosen = Callable[..., list[str]]


@pytest.fixture(scope="module")
def chosen(beside_the_jar: JavaProgram) -> Chosen:
    """The Pythons that an environment chooses with these keys of the conf, with all but the first,
    and so on to none.
    """
    command = beside_the_jar("ChosenPython")

    def choose(environment: dict[str, str], *conf: str) -> list[str]:
        rest = {key: value for key, value in os.environ.items() if key not in ENVIRONMENT}
        env = {**rest, **environment}
        return subprocess.run(
            [*command, *conf], env=env, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    return choose


def test_python_is_chosen_by_lockgate_conf_spark_conf_environment(
    chosen: Chosen,
) -> None:
    environment = {name: f"/by/{name}/python3" for name in ENVIRONMENT}

    assert chosen(environment, *CONF) == [*(f"/by/{key}" for key in CONF), "/by/PYSPARK_DRIVER_PYTHON/python3"]
    assert chosen({}) == ["python3"]


def test_a_notebook_s_command_is_no_python(chosen: Chosen) -> None:
    given = {"PYSPARK_DRIVER_PYTHON": "/usr/bin/jupyter", "PYSPARK_PYTHON": "/by/PYSPARK_PYTHON/python3"}

    assert chosen(given) == ["/by/PYSPARK_PYTHON/python3"]


def test_a_python_with_another_version_than_the_jar_s_says_what_to_install() -> None:
    env = {**os.environ, "LOCKGATE_JAR": "9.9.9"}
    host = [sys.executable, "-m", "lockgate_spark.host"]
    ended = subprocess.run(host, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    assert ended.returncode == 1
    assert "the jar lockgate-spark-server is 9.9.9, and this Python has lockgate-spark " in ended.stderr
    assert f"run `{sys.executable} -m pip install lockgate-spark==9.9.9`" in ended.stderr
