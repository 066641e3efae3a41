"""The public function `doctor`."""

from contextlib import suppress

from pyspark.sql import SparkSession

from lockgate_http.errors import ConfigurationError
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.inspection import Diagnosis, examine
from lockgate_spark.packages import packages
from lockgate_spark.spark_lines import is_connect


def doctor(spark: SparkSession | None = None) -> Diagnosis:
    """Check that the running Spark has each private member that lockgate uses, and return the
    findings. `print` shows them as a table.

    Run it first on a vendor's build, or on a version of Spark that was not tested. It starts no job
    and does not connect to Kafka. The table also shows whether Spark's Kafka connector is missing,
    and whether this Spark ignores lockgate's server jar.

    Examples:
        >>> print(lockgate_spark.doctor())

    Args:
        spark: The session to look at. Default: the active one, or a new one with `packages()`.

    Raises:
        UnsupportedQuery: The session belongs to Spark Connect, so it has no JVM to look at.

    """
    spark = spark or SparkSession.getActiveSession() or _new_session()
    if is_connect(spark):
        raise UnsupportedQuery(
            "doctor() looks into the driver's JVM, and a session of Spark Connect has none. Run "
            "python -m lockgate_spark doctor with the server's Spark"
        )
    return examine(spark)


def _new_session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    with suppress(ConfigurationError):  # the table says that no connector is known for this Spark
        builder = builder.config("spark.jars.packages", packages())
    return builder.getOrCreate()
