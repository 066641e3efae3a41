"""Writes the rows that Spark drops as late to a table (`Alignment(late_rows="keep")`).

**Which rows.** When a row reaches the operator that drops it, a projection has often removed its
offset. So the rows are not taken from the running batch. If Spark's own metric shows that an
operator has dropped rows of a batch, the records of the batch are read a second time, by the
offsets in the checkpoint. They pass through the query's own optimised plan up to each operator that
drops late rows (`LateInputs.java`). The rows whose event time there is at or below the batch's
watermark are written. For a batch without late rows, only the metrics are read.

**Exactly once.** The rows are a function of the checkpoint, so they are the same whenever they are
computed. A batch has a folder of its own, which appears by a rename when it is complete. It is
written after Spark has committed the batch, so a batch that runs again has nothing to undo. If the
process ends in between, the next run first writes the missing rows of the last batch.
"""

import logging
from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyspark.sql.functions as F
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.event_time import OF_KAFKA, unless_it_fails
from lockgate_spark.jvm.failures import java_cause, root
from lockgate_spark.jvm.late import SEVERAL, allows_several
from lockgate_spark.jvm.names import class_name, each
from lockgate_spark.jvm.query import QueryRun
from lockgate_spark.logs.unread import Source
from lockgate_spark.offset_ranges import EARLIEST, Range, records
from lockgate_spark.spark_lines import options_of, session_of

log = logging.getLogger("lockgate")

_REFUSED = (
    'late_rows="keep": {}, so that a late row of this query cannot be followed to its offset. Use '
    'late_rows="count", or leave late_rows out'
)


class KeptRows:
    """Writes the late rows of one run to the table at `path`. By default, this is the folder
    `lockgate/late_rows` in the checkpoint. `sources` are the run's sources by index.
    """

    def __init__(self, spark: SparkSession, run: QueryRun, path: str | None, sources: Mapping[int, Source]) -> None:
        self._context, self._run, self._sources = spark.sparkContext, run, sources
        self.path = path or f"{run.execution.resolvedCheckpointRoot()}/lockgate/late_rows"
        self._committed, self._repeats = run.last_committed(), run.repeats()
        self._memory = run.memory("late")
        self._done: int | None = None
        self._inputs: Any = None
        self._leaves: list[tuple[Any, int, dict[str, str]]] = []  # of the plan, their source and its options
        self._total = 0

    def expect(self) -> None:
        """Prepare the table before the first batch; later calls do nothing. Write the late rows
        that the previous run has not written, and delete the rows of batches that are not
        committed. Raises `UnsupportedQuery` if a late row of this query cannot be traced to its
        offset.
        """
        if self._inputs is not None:
            return
        self._inputs = self._read_plan()
        files, last = self._files(), -1 if self._committed is None else self._committed
        files.mkdirs(self._path())
        self._discard_after(last)
        # a batch begins when the one before is written; a run that is not killed notes its last one
        if not (last < 0 or self._repeats or str(last) in self._memory.read() or files.exists(self._folder(last))):
            self._write(last)

    def take(self) -> None:
        """Write the late rows of the last batch; call it after each batch."""
        batch = self._run.last_batch()
        if batch is None or batch == self._done:
            return
        self.expect()
        if self._run.dropped():
            self._write(batch)
        self._done = batch

    def sum_up(self) -> None:
        """Log how many rows the run has written, and store the number of its last batch in the
        checkpoint folder. Call it at the end of the run.
        """
        if self._total:
            log.warning("this run wrote %d late rows to %s", self._total, self.path)
        if self._done is not None:
            try:
                self._memory.write(self._done, str(self._done))
            except Py4JJavaError as error:  # the thread of a query that was stopped is interrupted
                log.debug("the next run looks at batch %d again: %s", self._done, error)
        self._done, self._total = None, 0

    # -- which rows --

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
                self._leaves.append((leaf, index, dict(options_of(leaf).asCaseSensitiveMap())))
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
        for leaf, index, options in self._leaves:
            rows = self._records(spark, index, options, [] if batch is None else self._ranges(index, batch))
            plans.put(leaf, rows._jdf.queryExecution().analyzed())
        for n, (operator, plan) in enumerate(inputs.of(plans)):
            plan.setAnalyzed()
            rows = DataFrame(session.emptyDataFrame().ofRows(session, plan), spark)
            by = "lockgate_by.end" if dict(rows.dtypes)["lockgate_by"].startswith("struct") else "lockgate_by"
            rows = rows.where(F.col(by) <= F.timestamp_millis(F.lit(below)))
            own = [F.col(f"lockgate_{name}").alias(name) for name in ("topic", "partition", "offset", "event_time")]
            found.append(rows.select(F.lit(n).alias("input"), F.lit(str(operator)).alias("operator"), *own))
        return found

    def _records(self, spark: SparkSession, index: int, options: dict[str, str], ranges: list[Range]) -> DataFrame:
        event_time: Any = self._sources[index].event_time
        text = "timestamp" if event_time is None else event_time.text
        if event_time is not None and not event_time.micros:
            text = f"timestamp_millis({text})"
        own = [F.col(name).alias(f"lockgate_{name}") for name in ("topic", "partition", "offset")]
        # records that Kafka has deleted meanwhile must not keep the query from starting
        options = {"groupIdPrefix": "spark-kafka-source", **options, "failOnDataLoss": "false"}
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

    # -- the table --

    def _write(self, batch: int) -> None:
        below = self._run.late_below_in(batch)
        late = self._late(self._inputs, batch, below)
        if not late:
            return
        rows = reduce(DataFrame.unionAll, late).repartition(1).distinct().drop("input")
        rows = rows.withColumn("watermark", F.timestamp_millis(F.lit(below)))
        files, folder, made = self._files(), self._folder(batch), self._path(f"_writing/{self._run.query_id}-{batch}")
        rows.write.mode("overwrite").parquet(str(made.toString()))
        written = rows.sparkSession.read.schema(rows.schema).parquet(str(made.toString())).count()
        if not written:
            files.delete(made, True)
            return
        files.mkdirs(folder.getParent())
        files.delete(folder, True)
        if not files.rename(made, folder):
            raise OSError(f"cannot rename {made.toString()} to {folder.toString()}")
        said = "batch %d: Spark dropped %d late rows, which are in %s. The sum is logged at the end of the run"
        log.log(logging.DEBUG if self._total else logging.WARNING, said, batch, written, self.path)
        self._total += written

    def _discard_after(self, batch: int) -> None:
        """Delete the rows of all batches after `batch`. Such rows exist if the checkpoint was set
        back.
        """
        files, parent = self._files(), self._folder(0).getParent()
        for status in files.listStatus(parent) if files.exists(parent) else ():
            number = str(status.getPath().getName()).rpartition("=")[2]
            if number.isdecimal() and int(number) > batch:
                files.delete(status.getPath(), True)

    def _folder(self, batch: int) -> Any:
        return self._path(f"query={self._run.query_id}/batch_id={batch}")

    def _path(self, below: str = "") -> Any:
        return self._run.jvm.org.apache.hadoop.fs.Path(f"{self.path}/{below}" if below else self.path)

    def _files(self) -> Any:
        session = self._run.execution.sparkSession()
        return self._path().getFileSystem(session.sessionState().newHadoopConf())
