"""The Kafka connector that belongs to the Spark at hand."""

import re

from lockgate_client.errors import ConfigurationError

CONNECTORS = {"4.0": "4.0.4", "4.1": "4.1.3", "4.2": "4.2.0", "4.3": "4.2.0"}
"""The version of the connector that was tried with each line of Spark."""

SCALA = "2.13"  # of all builds of Spark 4


def packages(spark_version: str | None = None) -> str:
    """The connector's Maven coordinates, for `spark.jars.packages` or `--packages`.

    `spark_version`: such as "4.2.0"; None: that of the installed PySpark. Raises
    `ConfigurationError` where there is no PySpark, or no connector was tried with its line.
    """
    if spark_version is None:
        spark_version = _installed()
    line = re.match(r"\d+\.\d+", spark_version)
    if line is None or line[0] not in CONNECTORS:
        raise ConfigurationError(
            f"no Kafka connector was tried with Spark {spark_version!r}: known are {', '.join(sorted(CONNECTORS))}"
        )
    return f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{CONNECTORS[line[0]]}"


def _installed() -> str:
    try:
        import pyspark
    except ImportError as error:
        raise ConfigurationError('PySpark is not installed: pip install "lockgate-spark[pyspark]"') from error
    return str(pyspark.__version__)
