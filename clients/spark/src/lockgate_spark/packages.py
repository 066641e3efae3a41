"""The versions of Spark that lockgate supports, and the Kafka connector for each."""

import re
from typing import Any

from lockgate_http.errors import ConfigurationError
from lockgate_spark.errors import UnsupportedQuery

CONNECTORS = {"4.0": "4.0.4", "4.1": "4.1.3", "4.2": "4.2.0", "4.3": "4.2.0"}
"""The version of the connector that was tried with each line of Spark."""

SCALA = "2.13"  # of all builds of Spark 4


def check_spark(spark: Any) -> None:
    """Raise `UnsupportedQuery` for a session of a Spark version whose internals were not tried.

    This only asks the session for its version, since an older Spark may lack everything else.
    """
    versions = (str(spark.version), _installed())
    if all(_line(version) in CONNECTORS for version in versions):
        return
    raise UnsupportedQuery(
        f"Spark {versions[0]} (pyspark {versions[1]}) is unknown to this version of lockgate, which leans on internals"
        f" of Spark {', '.join(CONNECTORS)}. Use one of these, or a newer lockgate"
    )


def packages(spark_version: str | None = None) -> str:
    """Return the connector's Maven coordinates, for `spark.jars.packages` or `--packages`.

    Examples:
        >>> builder.config("spark.jars.packages", lockgate_spark.packages())

    Args:
        spark_version: Spark version, such as "4.2.0". Default: the version of the installed
            PySpark.

    Raises:
        ConfigurationError: PySpark is not installed, or no connector was tested with this version.
    """
    if spark_version is None:
        spark_version = _installed()
    line = _line(spark_version)
    if line not in CONNECTORS:
        raise ConfigurationError(
            f"no Kafka connector was tried with Spark {spark_version!r}: known are {', '.join(sorted(CONNECTORS))}"
        )
    return f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{CONNECTORS[line]}"


def _line(version: str) -> str:
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else ""


def _installed() -> str:
    try:
        import pyspark
    except ImportError as error:
        raise ConfigurationError('PySpark is not installed: pip install "lockgate-spark[pyspark]"') from error
    return str(pyspark.__version__)
