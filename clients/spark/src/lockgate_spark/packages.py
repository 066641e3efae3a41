"""The supported versions of Spark, and the Kafka connector for each."""

import logging
import os
import re
from pathlib import Path
from typing import Any

import pyspark

from lockgate_http.errors import ConfigurationError
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.spark_lines import is_connect

log = logging.getLogger("lockgate")

CONNECTORS = {"3.5": "3.5.7", "4.0": "4.0.4", "4.1": "4.1.3", "4.2": "4.2.0", "4.3": "4.2.0"}
"""The version of the connector that was tried with each line of Spark."""

_SPARK_3 = "3.5"  # without the server's extension, and usually built with Scala 2.12


def was_tried(version: str) -> bool:
    """Return whether lockgate was tested with Spark `version` or another patch release of it."""
    return _line(version) in CONNECTORS


def refuse_by_version(spark: Any) -> None:
    versions, tested = (str(spark.version), str(pyspark.__version__)), f"Spark {', '.join(CONNECTORS)}"
    shown = f"Spark {versions[0]} (pyspark {versions[1]})"
    if any(_numbers(version) < min(map(_numbers, CONNECTORS)) for version in versions):
        raise UnsupportedQuery(f"{shown} is older than what lockgate works with: {tested}")
    if is_connect(spark) and _SPARK_3 in map(_line, versions):
        raise UnsupportedQuery(f"Spark Connect, {shown}: lockgate needs Spark 4.0 or newer. Use a classic session")
    if is_connect(spark) and not was_tried(versions[1]):
        raise UnsupportedQuery(f"Spark Connect, {shown}: lockgate was tested with {tested}. Use one of these")


def packages(spark_version: str | None = None) -> str:
    """Return the connector's Maven coordinates, for `spark.jars.packages` or `--packages`.

    Examples:
        >>> builder.config("spark.jars.packages", lockgate_spark.packages())

    Args:
        spark_version: Spark version, such as "4.2.0". Default: the Spark and Scala versions of the
            running session, or of the installed PySpark if no session runs.

    Raises:
        ConfigurationError: No connector was tested with this version.
    """
    scala = ""
    if spark_version is None and (context := _context()) is not None:
        spark_version, scala = str(context.version), str(context._jvm.scala.util.Properties.versionNumberString())
        if note := jar_note():
            log.warning("%s", note)
    elif spark_version is None:
        home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
        jars = [jar.name.removeprefix("scala-library-") for jar in home.glob("jars/scala-library-*.jar")]
        spark_version, scala = str(pyspark.__version__), jars[0] if jars else ""
    line = _line(spark_version)
    if line not in CONNECTORS:
        known = ", ".join(CONNECTORS)
        raise ConfigurationError(f"no Kafka connector was tried with Spark {spark_version!r}: known are {known}")
    scala = _line(scala) or ("2.12" if line == _SPARK_3 else "2.13")
    return f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{CONNECTORS[line]}"


def jar_note() -> str:
    """Return a sentence about lockgate's server jar if the running Spark ignores it, else ""."""
    context = _context()
    if context is None or _line(str(context.version)) != _SPARK_3:
        return ""
    conf = context.getConf()
    if not any("lockgate-spark-server" in str(conf.get(key, "")) for key in ("spark.jars", "spark.jars.packages")):
        return ""
    return f"the jar lockgate-spark-server has no effect on Spark {context.version}: call align() in the code instead"


def _line(version: str) -> str:
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else ""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in _line(version).split(".") if number]


def _context() -> Any | None:
    of_process = getattr(pyspark, "SparkContext", None)  # a client of Connect has none
    return None if of_process is None else of_process._active_spark_context
