"""The connector for the Spark at hand, and README's table of what was tried."""

import re

import pyspark
import pytest

import lockgate_spark
from lockgate_spark import ConfigurationError, packages
from lockgate_spark.packages import CONNECTORS
from support.imports import CHECKOUT

ROW = re.compile(r"^\| (4\.\d)\.[^|]*\| ([\d.]+) \| 2\.13 \|", re.MULTILINE)


def test_the_connector_is_the_one_that_was_tried_with_the_line_of_spark() -> None:
    assert packages("4.2.1") == packages("4.2.0-amzn-1") == "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
    assert packages("4.0.5").endswith(":4.0.4")
    assert packages() == packages(pyspark.__version__)


@pytest.mark.parametrize("version", ["3.5.1", "5.0.0", "main"])
def test_a_spark_that_was_not_tried_is_refused_with_those_that_were(version: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{version}.*known are 4\.0, 4\.1, 4\.2, 4\.3"):
        packages(version)


def test_readme_has_the_same_table() -> None:
    assert dict(ROW.findall((CHECKOUT / "README.md").read_text(encoding="utf-8"))) == CONNECTORS
    assert "packages" in lockgate_spark.__all__
