"""Finds the rows of a batch that Spark has dropped as late.

When a row reaches the operator that drops it, a projection has often removed its offset. So the
rows are not taken from the running batch. The records of the batch are read a second time, by the
offsets in the checkpoint. They pass through the query's own optimised plan up to each operator that
drops late rows (`LateInputs.java`). A row has been dropped if its event time there is at or below
the batch's watermark.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any, Protocol

import pyspark.sql.functions as F
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.event_time import OF_KAFKA, unless_it_fails
from lockgate_spark.jvm.failures import Selected, java_cause, root
from lockgate_spark.jvm.late import SEVERAL, allows_several
from lockgate_spark.jvm.names import class_name, each
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.logs.unread import Source
from lockgate_spark.offset_ranges import EARLIEST, Range, records
from lockgate_spark.spark_lines import session_of

_REFUSED = (
    'late_rows="keep": {}, so that a late row of this query cannot be followed to its offset. Use '
    'late_rows="count", or leave late_rows out'
)


class KafkaSource(Source, Protocol):
    """An aligned source of a query that Spark runs. `selected` has its options."""

    selected: Selected


class DroppedRows:
    """The rows that Spark drops as late in one run. `sources` are the run's sources by index.

    Raises `UnsupportedQuery` if a late row of this query cannot be traced to its offset.
    """

    def __init__(self, spark: SparkSession, run: QueryRun, sources: Mapping[int, KafkaSource]) -> None:
        self._context, self._run, self._sources = spark.sparkContext, run, sources
        self._leaves: list[tuple[Any, int]] = []  # of the plan, and their source
        self._inputs = self._read_plan()

    def of(self, batch: int) -> DataFrame | None:
        """Return the rows that Spark has dropped of `batch`; None if the query drops none."""
        below = self._run.late_below_in(batch)
        late = self._late(self._inputs, batch, below)
        if not late:
            return None
        rows = reduce(DataFrame.unionAll, late).repartition(1).distinct()
        return rows.withColumn("watermark", F.timestamp_millis(F.lit(below)))

    def _read_plan(self) -> Any:
        execution, jvm = self._run.execution, self._run.jvm
        session, plan = session_of(execution), execution.logicalPlan()
        if not allows_several(session.conf()):
            raise UnsupportedQuery(f'late_rows="keep" needs {SEVERAL}=true, which is the default')
        if new_java(jvm, plan, "lockgate_spark.jvm", "LateInputs", plan).filtersByNow():
            raise UnsupportedQuery(_REFUSED.format("a filter uses the current time"))
        if class_name(plan).startswith("WriteTo"):
            plan = plan.children().apply(0)
        plan = session.sessionState().optimizer().execute(plan)
        for leaf in each(plan.collectLeaves()):
            index = self._run.index_of(leaf.stream()) if class_name(leaf).startswith("StreamingDataSourceV2") else None
            if index is not None:
                self._leaves.append((leaf, index))
        inputs = new_java(jvm, plan, "lockgate_spark.jvm", "LateInputs", plan)
        try:
            self._late(inputs, None, 0)
        except (Py4JJavaError, PySparkException) as error:
            raise UnsupportedQuery(_REFUSED.format(root(java_cause(error)).getMessage())) from None
        return inputs

    def _late(self, inputs: Any, batch: int | None, below: int) -> list[DataFrame]:
        """Return the late rows of `batch`: one DataFrame for each input of an operator that drops
        late rows. `below` is the watermark (ms) of the batch. If `batch` is None, the DataFrames
        are empty.
        """
        if str(self._run.execution.outputMode()) == "Complete":
            return []  # which drops no rows
        session = session_of(self._run.execution)
        spark, found = SparkSession(self._context, session), []
        plans = self._run.jvm.java.util.IdentityHashMap()
        for leaf, index in self._leaves:
            rows = self._records(spark, index, [] if batch is None else self._ranges(index, batch))
            plans.put(leaf, rows._jdf.queryExecution().analyzed())
        for operator, plan in inputs.of(plans):
            plan.setAnalyzed()
            rows = DataFrame(session.emptyDataFrame().ofRows(session, plan), spark)
            by = "lockgate_by.end" if dict(rows.dtypes)["lockgate_by"].startswith("struct") else "lockgate_by"
            rows = rows.where(F.col(by) <= F.timestamp_millis(F.lit(below)))
            own = [F.col(f"lockgate_{name}").alias(name) for name in ("topic", "partition", "offset", "event_time")]
            found.append(rows.select(F.lit(str(operator)).alias("operator"), *own))
        return found

    def _records(self, spark: SparkSession, index: int, ranges: list[Range]) -> DataFrame:
        event_time: Any = self._sources[index].event_time
        text = "timestamp" if event_time is None else event_time.text
        if event_time is not None and not event_time.micros:
            text = f"timestamp_millis({text})"
        own = [F.col(name).alias(f"lockgate_{name}") for name in ("topic", "partition", "offset")]
        # records that Kafka has deleted meanwhile must not keep the query from starting
        options = {
            "groupIdPrefix": "spark-kafka-source",
            **self._sources[index].selected.given,
            "failOnDataLoss": "false",
        }
        time = unless_it_fails(spark, text, OF_KAFKA).alias("lockgate_event_time")
        return records(spark, options, ranges).select("*", *own, time)

    def _ranges(self, index: int, batch: int) -> list[Range]:
        start, end = (self._run.offsets_in(index, number) for number in (batch - 1, batch))
        start = self._sources[index].initial() if start is None else start
        return [
            Range(split.rpartition("-")[0], int(split.rpartition("-")[2]), start.get(split, EARLIEST), to)
            for split, to in (end or {}).items()
            if to > start.get(split, 0)
        ]
