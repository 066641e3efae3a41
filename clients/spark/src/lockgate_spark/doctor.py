"""`doctor`, which looks for all that lockgate uses of the Spark at hand. As a command:

python -m lockgate_spark.doctor
"""

import sys

from pyspark.sql import SparkSession

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.inspection import Diagnosis, examine
from lockgate_spark.packages import packages
from lockgate_spark.spark_lines import is_connect


def doctor(spark: SparkSession | None = None) -> Diagnosis:
    """Look for each private member of Spark that lockgate uses, on the running Spark.

    Run it first on a vendor's build, or on a version of Spark that was not tested. It starts no job
    and connects to no Kafka. A session without Spark's Kafka connector is told to add it.

    Examples:
        >>> print(lockgate_spark.doctor())

    Args:
        spark: The session to look at. Default: the active one.

    Raises:
        UnsupportedQuery: The session is one of Spark Connect, which has no JVM to look at.

    """
    spark = spark or SparkSession.active()
    if is_connect(spark):
        raise UnsupportedQuery(
            "doctor() looks into the driver's JVM, and a session of Spark Connect has none. Run "
            "python -m lockgate_spark.doctor with the server's Spark"
        )
    return examine(spark)


def main() -> int:
    """Print the diagnosis of a session with the usual connector; 1 if `align` cannot work."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False)
    found = doctor(builder.config("spark.jars.packages", packages()).getOrCreate())
    print(found)
    return 0 if found.can_align else 1


if __name__ == "__main__":
    sys.exit(main())
