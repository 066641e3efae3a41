"""The connector for the Spark at hand, and README's table of what was tried."""

import re
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

import lockgate_spark
from lockgate_spark import ConfigurationError, packages
from lockgate_spark.packages import CONNECTORS
from support.imports import CHECKOUT

ROW = re.compile(r"^\| (\d\.\d)\.[^|]*\| ([\d.]+) \| (2\.1\d) \|", re.MULTILINE)


def test_the_connector_is_the_one_that_was_tried_with_the_line_of_spark() -> None:
    assert packages("4.2.1") == packages("4.2.0-amzn-1") == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    assert packages("4.0.5").endswith(":4.0.4")
    assert packages("3.5.4") == "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7"
    assert packages() == packages(pyspark.__version__)


def test_packages_before_a_session_takes_scala_from_sparks_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", None)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "scala-library-2.12.18.jar").touch()
    assert "_2.12:" in packages()


def test_packages_of_a_running_session_asks_its_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    scala = SimpleNamespace(util=SimpleNamespace(Properties=SimpleNamespace(versionNumberString=lambda: "2.13.8")))
    context = SimpleNamespace(version="3.5.3", _jvm=SimpleNamespace(scala=scala), getConf=dict)
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", context)
    assert packages() == "org.apache.spark:spark-sql-kafka-0-10_2.13:3.5.7"


def test_packages_warns_of_a_server_jar_that_spark_3_ignores(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scala = SimpleNamespace(util=SimpleNamespace(Properties=SimpleNamespace(versionNumberString=lambda: "2.12.18")))
    conf = {"spark.jars": "/jars/lockgate-spark-server-0.1.0.jar"}
    context = SimpleNamespace(version="3.5.3", _jvm=SimpleNamespace(scala=scala), getConf=lambda: conf)
    monkeypatch.setattr(pyspark.SparkContext, "_active_spark_context", context)
    packages()
    assert ["has no effect on Spark 3.5.3" in said for said in caplog.messages] == [True]
    context.version = "4.2.1"
    packages()
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("version", ["3.4.1", "5.0.0", "main"])
def test_a_spark_that_was_not_tried_is_refused_with_those_that_were(version: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{version}.*known are 3\.5, 4\.0, 4\.1, 4\.2, 4\.3"):
        packages(version)


def test_readme_has_the_same_table() -> None:
    found = ROW.findall((CHECKOUT / "README.md").read_text(encoding="utf-8"))
    assert {line: connector for line, connector, _ in found} == CONNECTORS
    assert all(f"_{scala}:" in packages(f"{line}.0") for line, _, scala in found)
    assert "packages" in lockgate_spark.__all__
