"""The differences between Spark 3.5 and Spark 4 in a classic session. This module does not import
py4j, because a Spark Connect client imports it, too.
"""

from collections.abc import Mapping
from typing import Any

import pyspark

SPARK_3 = str(pyspark.__version__).startswith("3.")


def is_connect(df: object) -> bool:
    return type(df).__module__.startswith("pyspark.sql.connect")


def settings_of(spark: Any) -> Mapping[str, str]:
    if not SPARK_3:
        return spark.conf.getAll  # type: ignore[no-any-return]
    settings = spark._jsparkSession.conf().getAll()
    return dict(spark._jvm.scala.collection.JavaConverters.mapAsJavaMap(settings))


def column_of(jvm: Any, expression: Any) -> Any:
    sql = jvm.org.apache.spark.sql
    return sql.Column(expression) if SPARK_3 else sql.classic.ExpressionUtils.column(expression)


def session_of(execution: Any) -> Any:
    """Return the Java session in which a run executes its batches."""
    return _field(execution, "sparkSessionForStream") if SPARK_3 else execution.sparkSessionForStream()


def start_offsets(execution: Any) -> Any:
    """Return the offsets at which the next batch of a `StreamExecution` starts, by source."""
    return execution.committedOffsets() if SPARK_3 else execution.getStartOffsetsOfLatestBatch()


def options_of(leaf: Any) -> Any:
    """Return the options of a Kafka source in a run's plan, as a Java map."""
    return _field(leaf.scan(), "options") if SPARK_3 else leaf.relation().options()


def _field(java: Any, name: str) -> Any:
    """Return the value of a private field of the object's class or of a superclass."""
    owner = java.getClass()
    while name not in [str(each.getName()) for each in owner.getDeclaredFields()]:
        owner = owner.getSuperclass()
    field = owner.getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)
