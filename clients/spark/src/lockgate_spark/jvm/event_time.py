"""An event time in the payload: a Spark SQL expression over Kafka's columns, which Spark compiles
and `KafkaLog.java` applies to the row that Spark's own Kafka source makes of a record. So the
driver and the query compute the same event time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyspark.sql.functions as F
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame

from lockgate_http.errors import ConfigurationError
from lockgate_spark.event_times import TIME
from lockgate_spark.jvm.names import class_name
from lockgate_spark.spark_lines import column_of

# the types of an event time, and whether each is in microseconds
_UNITS = {"timestamp": True, "long": False}
_HINTS = {
    "timestamp_ntz": "a TIMESTAMP_NTZ says no time zone: cast it to TIMESTAMP",
    "string": "parse it: to_timestamp(…), or cast(… as timestamp)",
    "integer": "milliseconds since 1970 are a BIGINT",
    "date": "a day is too coarse to align by",
}

OF_KAFKA = "topic IS NOT NULL"
"""A condition that each row of Kafka's source meets, although Spark's optimiser cannot know it."""
OF_ANY = "element_at(transform(array(1), one -> one), 1) = 1"
"""A condition that any row meets. It has a lambda, so Spark evaluates it for each row."""


def unless_it_fails(spark: Any, text: str, true: str) -> Column:
    """Return the SQL expression `text` as a column that is null where the expression fails.

    The condition `true` always holds: `OF_KAFKA` or `OF_ANY`. Without one, Spark would compute a
    repeated part of the expression in advance and outside of `TryEval`, and fail there.
    """
    parsed = spark._jsparkSession.sessionState().sqlParser().parseExpression(text)
    tried = spark._jvm.org.apache.spark.sql.catalyst.expressions.TryEval(parsed)
    return F.when(F.expr(true), Column(column_of(spark._jvm, tried)))


def event_times(batch: DataFrame, event_time: str) -> DataFrame:
    """Return the event times of `batch` as the column `TIME`, null where the expression fails."""
    return batch.select(unless_it_fails(batch.sparkSession, event_time, OF_ANY).alias(TIME))


@dataclass(frozen=True, slots=True)
class EventTime:
    """A SQL expression that was checked and can be used as event time."""

    text: str
    micros: bool  # it is a TIMESTAMP, in microseconds; else a BIGINT of milliseconds
    headers: bool  # the source's rows have the column `headers`
    projection: Callable[[], Any]
    """Compile the expression, for one thread: to a map from a source's row to a row."""

    @classmethod
    def over(cls, spark: Any, table: Any, text: str | None) -> "EventTime | None":
        """Compile `text` over the columns of Spark's Kafka `table`. None: Kafka's own timestamp."""
        if text is None:
            return None
        jvm, schema = spark._jvm, table.schema()
        rows = spark._jsparkSession.createDataFrame(spark.sparkContext._jsc.emptyRDD(), schema)
        try:
            selected = DataFrame(rows, spark).selectExpr(text)
            execution = selected._jdf.queryExecution()
            analysed, optimised = execution.analyzed(), execution.optimizedPlan()
        except PySparkException as error:
            raise _wrong(text, next(line for line in str(error).split("\n") if line.strip())) from None
        micros = _checked(text, analysed, optimised, jvm)
        attributes, expression = analysed.children().apply(0).output(), analysed.expressions().apply(0)
        if class_name(expression) == "AttributeReference" and expression.name().lower() == "timestamp":
            return None
        create = jvm.org.apache.spark.sql.catalyst.expressions.UnsafeProjection.create
        projection = partial(create, optimised.expressions(), attributes)
        try:
            projection()
        except Py4JJavaError as error:
            said = error.java_exception.getMessage()
            raise _wrong(text, f"it cannot be evaluated outside of a query: {said}") from None
        return cls(text, micros, "headers" in list(schema.fieldNames()), projection)

    def timestamp(self, spark: Any) -> Column:
        """Return the event time as a TIMESTAMP, null where the expression is null or fails."""
        return unless_it_fails(spark, self.text if self.micros else f"timestamp_millis({self.text})", OF_KAFKA)


def _checked(text: str, analysed: Any, optimised: Any, jvm: Any) -> bool:
    """Check the expression of a query's plans, and return whether it is in microseconds."""
    patterns = jvm.org.apache.spark.sql.catalyst.trees.TreePattern
    projects = class_name(analysed) == class_name(optimised) == "Project"
    if not projects or analysed.children().apply(0).children().size() or analysed.output().size() != 1:
        raise _wrong(text, "expected one expression for one record, without aggregates, windows and generators")
    expression = analysed.expressions().apply(0)
    if expression.containsPattern(patterns.PLAN_EXPRESSION()):
        raise _wrong(text, "it has a subquery, but must depend on the record only")
    if expression.containsPattern(patterns.PYTHON_UDF()):
        raise _wrong(text, "it calls a Python function, which the driver's JVM cannot. Use Spark's own functions")
    if not expression.deterministic() or expression.containsPattern(patterns.CURRENT_LIKE()):
        raise _wrong(text, "it must be deterministic: a record's event time is the same whenever it is looked at")
    if expression.references().isEmpty():
        raise _wrong(text, "it names none of the source's columns, so that all records would have one event time")
    kind = str(analysed.output().apply(0).dataType().typeName())
    if kind not in _UNITS:
        hint = f"; {_HINTS[kind]}" if kind in _HINTS else ""
        raise _wrong(text, f"it is of type {kind}, and event time is a TIMESTAMP, or a BIGINT of ms since 1970{hint}")
    return _UNITS[kind]


def _wrong(text: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f"Alignment(event_time={text!r}): {reason}")
