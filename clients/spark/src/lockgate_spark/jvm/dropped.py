"""Finds and counts the rows of a batch that Spark has dropped as late.

When a row reaches the operator that drops it, a projection has often removed its offset. So the
batch's records are read a second time, by the offsets in the checkpoint, and pass through the
query's own optimised plan up to each operator that drops late rows (`LateInputs.java`). A row has
been dropped if its event time there is at or below the batch's watermark. Unlike Spark's metrics,
the result does not depend on how often Spark has run a task.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyspark.sql.functions as F
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.failures import root, sentence
from lockgate_spark.jvm.names import class_name, each
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.offset_ranges import EARLIEST, Range, records
from lockgate_spark.report.findings import BatchLoss

log = logging.getLogger("lockgate")

_OWN = ("source", "topic", "partition", "offset", "event_time")


class DroppedRows:
    """Finds the rows that Spark drops as late in one run. `spark` is the run's own session, and
    `sources` are its streams by index.

    Unless `exact`, each row that is late when it is read counts as dropped, although Spark may keep
    it. Raises `UnsupportedQuery` if rows cannot be followed to the operators. The message is the
    reason, as part of a sentence.
    """

    def __init__(self, spark: SparkSession, run: QueryRun, sources: Mapping[int, Any], exact: bool = True) -> None:
        self._spark, self._run, self._sources, self.exact = spark, run, sources, exact
        jvm, plan = run.jvm, run.execution.logicalPlan()
        if exact and new_java(jvm, plan, "lockgate_spark.jvm", "LateInputs", plan).filtersByNow():
            raise UnsupportedQuery("a filter uses the current time")
        if class_name(plan).startswith("WriteTo"):
            plan = plan.children().apply(0)
        plan = spark._jsparkSession.sessionState().optimizer().execute(plan)
        self._leaves: list[tuple[Any, int]] = []  # of the plan, and their source
        for leaf in each(plan.collectLeaves()):
            index = run.index_of(leaf.stream()) if class_name(leaf).startswith("StreamingDataSourceV2") else None
            if index is not None:
                self._leaves.append((leaf, index))
        self._inputs = new_java(jvm, plan, "lockgate_spark.jvm", "LateInputs", plan)
        try:
            self._late(None)
        except (Py4JJavaError, PySparkException) as error:
            raise UnsupportedQuery(str(root(error).getMessage())) from None

    def of(self, batch: int) -> DataFrame | None:
        """Return the dropped rows of `batch`, with its watermark; None if none can be."""
        late = self._late(batch)
        if late is None:
            return None
        rows = late.drop("source").repartition(1).distinct()
        return rows.withColumn("watermark", F.timestamp_millis(F.lit(self._run.late_below_in(batch))))

    def counts(self, batch: int) -> dict[int, BatchLoss]:
        """Return the numbers of records whose rows were dropped in `batch`, by source."""
        late, by = self._late(batch), ("source", "topic", "partition")
        if late is None:
            return {}
        records = late.select(*by, "offset", "event_time").repartition(1).distinct()
        oldest = F.unix_millis(F.min("event_time")).alias("oldest")
        found, below = dict[int, BatchLoss](), self._run.late_below_in(batch)
        for row in records.groupBy(*by).agg(F.count("*").alias("rows"), oldest).collect():
            mine = found.setdefault(row["source"], BatchLoss({}, None, below, self.exact))
            mine.lost[f"{row['topic']}-{row['partition']}"] = row["rows"]
            mine.oldest = min((ms for ms in (mine.oldest, row["oldest"]) if ms is not None), default=None)
        return found

    def _late(self, batch: int | None) -> DataFrame | None:
        """Return the late rows of `batch`, or none if it is None, at all operators that drop late
        rows. Return None without such operators.
        """
        if str(self._run.execution.outputMode()) == "Complete":
            return None  # which drops no rows
        session, found = self._spark._jsparkSession, []
        plans = self._run.jvm.java.util.IdentityHashMap()
        for leaf, index in self._leaves:
            rows = self._records(index, [] if batch is None else self._ranges(index, batch))
            if self.exact:
                plans.put(leaf, rows._jdf.queryExecution().analyzed())
            else:
                found.append(("", rows.withColumn("lockgate_by", F.col("lockgate_event_time"))))
        for operator, plan in self._inputs.of(plans) if self.exact else ():
            plan.setAnalyzed()
            found.append((str(operator), DataFrame(session.emptyDataFrame().ofRows(session, plan), self._spark)))
        below = F.timestamp_millis(F.lit(0 if batch is None else self._run.late_below_in(batch)))
        late = []
        for operator, rows in found:
            of_window = dict(rows.dtypes)["lockgate_by"].startswith("struct")
            own = (F.col(f"lockgate_{name}").alias(name) for name in _OWN)
            passed = rows.where(F.col("lockgate_by.end" if of_window else "lockgate_by") <= below)
            late.append(passed.select(F.lit(operator).alias("operator"), *own))
        return reduce(DataFrame.unionAll, late) if late else None

    def _records(self, index: int, ranges: list[Range]) -> DataFrame:
        source = self._sources[index]
        event_time = F.col("timestamp") if source.event_time is None else source.event_time.timestamp(self._spark)
        own = [F.col(name).alias(f"lockgate_{name}") for name in ("topic", "partition", "offset")]
        own += [F.lit(index).alias("lockgate_source"), event_time.alias("lockgate_event_time")]
        options = {"groupIdPrefix": "spark-kafka-source"} | dict(source.selected.given)
        # records that Kafka has deleted meanwhile must not keep the query from starting
        return records(self._spark, options | {"failOnDataLoss": "false"}, ranges).select("*", *own)

    def _ranges(self, index: int, batch: int) -> list[Range]:
        start, end = (self._run.logged_offsets(index, number) for number in (batch - 1, batch))
        start = self._sources[index].initial() if start is None else start
        return [
            Range(split.rpartition("-")[0], int(split.rpartition("-")[2]), start.get(split, EARLIEST), to)
            for split, to in (end or {}).items()
            if to > start.get(split, 0)
        ]


class LateCount:
    """Counts the late rows of one run (`Alignment(late_rows="count")`), as `DroppedRows` does."""

    def __init__(self, spark: SparkSession, run: QueryRun, sources: Mapping[int, Any]) -> None:
        self._spark, self._run, self._sources = spark, run, sources
        self._dropped: DroppedRows | None = None
        self._counted: int | None = None
        self._by_split: Counter[str] = Counter()
        self.last: dict[int, BatchLoss] = {}  # by source, of the last batch
        self.total: Counter[int] = Counter()  # by source, of all batches
        self.uncounted = ""  # why the rows of some batch could not be counted

    def take(self) -> None:
        """Count the late rows of the last batch, after each batch. Warn of the run's first ones."""
        batch = self._run.last_batch()
        if batch is None or batch == self._counted:
            return
        self._counted, self.last = batch, {}
        try:
            if self._run.dropped():
                self.last = self._count(batch)
        except Exception as error:
            log.log(logging.DEBUG if self.uncounted else logging.WARNING, "cannot count late rows: %s", sentence(error))
            self.uncounted = sentence(error)
        lost = Counter[str]()
        for source, found in self.last.items():
            lost.update(found.lost)
            self.total[source] += sum(found.lost.values())
        if lost and not self._by_split:
            log.warning("batch %d has %s late rows, which Spark has dropped. By partition: %s", batch, *_summary(lost))
        self._by_split.update(lost)

    def sum_up(self) -> None:
        if self._by_split:
            said = "this run had %s late rows, which Spark has dropped. By partition: %s"
            log.warning(said, *_summary(self._by_split))
            self._by_split.clear()

    def _count(self, batch: int) -> dict[int, BatchLoss]:
        if self._dropped is None:
            try:
                self._dropped = DroppedRows(self._spark, self._run, self._sources)
            except UnsupportedQuery as error:
                log.info("late rows are counted where they are read, as an upper bound: %s", error)
                self._dropped = DroppedRows(self._spark, self._run, self._sources, exact=False)
        return self._dropped.counts(batch)


def _summary(rows: Counter[str]) -> tuple[int, str]:
    return rows.total(), ", ".join(f"{split} {n}" for split, n in sorted(rows.items()))
