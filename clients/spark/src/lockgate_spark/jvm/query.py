"""The run of a streaming query, read from Spark's `StreamExecution` in the JVM.

A run is identified by the checkpoint of a source that it opens, or by a batch that it hands out.

Spark also names the query in local properties of the thread that runs it. Python can read them only
where its threads are pinned to the JVM's (`PYSPARK_PIN_THREAD`, the default), so that py4j runs a
callback on the same thread. Without pinning, and on threads that a user has started inside
foreachBatch, a batch is identified by its session: Spark makes one for each run.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lockgate.plan.windows import Zone
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.counted import CountedPlace
from lockgate_spark.jvm.losses import Tumbling, query_shape, windows_of
from lockgate_spark.jvm.memory import CheckpointMemory
from lockgate_spark.jvm.names import class_name, option
from lockgate_spark.jvm.offsets import SourceOffsets, metadata
from lockgate_spark.jvm.watermarks import query_watermarks
from lockgate_spark.jvm.zone import SESSION_ZONE, zone_of
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.query_watermark import POLICY, QueryWatermark
from lockgate_spark.report.findings import QueryShape, StateOperator
from lockgate_spark.spark_lines import session_of

QUERY_ID = "sql.streaming.queryId"
_JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
_JOIN_STORES, _ONE_STORE = 4, 3  # stores of one partition; from which format on it has one

_REFUSED = {
    "ContinuousTrigger": "Trigger.Continuous reads without batches, so that there is nothing to plan",
    "OneTimeTrigger": (
        "Trigger.Once ends after one batch, and what had to wait would be left unread; availableNow=True waits for it"
    ),
    "RealTimeTrigger": "real-time mode refuses rate limits, and with them alignment",
}

_EXECUTIONS = {
    "AsyncProgressTrackingMicroBatchExecution": (
        "offsets are not logged before a batch runs, so a plan could come out differently after a failure. Leave out"
        " asyncProgressTrackingEnabled, or align()"
    ),
    "SequentialUnionExecution": (
        "followedBy() has one source read to its end before the next one begins, and a plan is made for all "
        "sources together: it does not"
        " know whose turn it is. Align the union instead, align(history.union(live)), which reads what is older "
        "first; or leave align() out"
    ),
}
_ANOTHER = "this way to run a query is unknown to this version of lockgate. Leave align() out"


@dataclass(frozen=True)
class QueryRun:
    """One run of one query. Raises `UnsupportedQuery` where the way it runs cannot be aligned."""

    execution: Any
    jvm: Any

    @classmethod
    def opening(cls, spark: Any, checkpoint: str) -> "QueryRun":
        """Return the run that opens the source with this checkpoint, whichever session started it.

        `spark`: any session of the application.
        """
        root = checkpoint.rpartition("/sources/")[0]
        execution = _running(spark, lambda one: str(one.resolvedCheckpointRoot()) == root)
        if execution is None:
            raise UnsupportedQuery(
                f"no streaming query of this application has the checkpoint {root}; start the stream with writeStream"
            )
        run = cls(execution, spark._jvm)
        run._refuse_modes()
        return run

    @classmethod
    def of_batch(cls, batch: Any) -> "QueryRun":
        """Return the run that handed out `batch`, in its foreachBatch function, whichever session
        started it.
        """
        session = batch.sparkSession
        query_id = query_id_of(batch)
        running = session._jsparkSession.sharedState().activeStreamingQueries()
        execution = running.get(session._jvm.java.util.UUID.fromString(query_id)) if query_id else None
        if execution is None:
            raise UnsupportedQuery(
                "this batch is of no streaming query that runs; a gate goes to writeStream.foreachBatch"
            )
        return cls(execution, session._jvm)

    @classmethod
    def of_plan(cls, spark: Any, plan: Any) -> "QueryRun | None":
        """Return the run that handed out a batch, by the batch's logical plan; None for any other
        plan.

        A client of Connect sees a batch in another session than the run's own.
        """
        leaves = plan.collectLeaves().iterator()
        while leaves.hasNext():
            leaf = leaves.next()
            if class_name(leaf) == "LogicalRDD":
                execution = _running_in(spark, leaf.otherCopyArgs().apply(0))
                if execution is not None:
                    return cls(execution, spark._jvm)
        return None

    @property
    def batch_id(self) -> int:
        """The number of the batch that runs, or ran last."""
        return int(self.execution.lastExecution().currentBatchId())

    @property
    def query_id(self) -> str:
        """Spark's id of the query; it lives in the checkpoint."""
        return str(self.execution.id().toString())

    @property
    def run_id(self) -> str:
        """Spark's id of this run."""
        return str(self.execution.runId().toString())

    @property
    def name(self) -> str | None:
        """The query's name, if it was given one."""
        name = self.execution.name()
        return None if name is None else str(name)

    @property
    def available_now(self) -> bool:
        """Return whether the run ends once it has read all that existed at its start."""
        return class_name(self.execution.trigger()) == "AvailableNowTrigger"

    @property
    def interval_s(self) -> float:
        """The time between two triggers: `ProcessingTime`'s interval; 0 where batches follow each
        other at once.
        """
        trigger = self.execution.trigger()
        return float(trigger.intervalMs()) / 1000 if class_name(trigger) == "ProcessingTimeTrigger" else 0.0

    def is_active(self) -> bool:
        """Return false once `query.stop()` was called."""
        return bool(self.execution.isActive())

    def failed(self) -> bool:
        """Return whether the run has ended with an error."""
        return bool(self.execution.exception().isDefined())

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end of the run, at most that long; return whether it has come.

        Do not call it on the query's own thread.
        """
        try:
            return bool(self.execution.awaitTermination(max(1, int(seconds * 1000))))
        except (Py4JJavaError, PySparkException):
            return True  # it has ended with an error

    def logged_offsets(self, source: int) -> Offsets | None:
        """Where the checkpoint's last batch ends in this source; None without one."""
        logged = self._sources.logged(source)
        return None if logged is None else parse(logged.json())

    def start_offsets(self, source: int) -> Offsets | None:
        """Where Spark starts the next batch of this source; None where it reads the source for the
        first time.
        """
        started = self._sources.started(source)
        return None if started is None else parse(started.json())

    def memory(self, name: str = "") -> CheckpointMemory:
        """Return the files of this name beside the checkpoint."""
        return CheckpointMemory(self.execution, self.jvm, name)

    def logged_watermark(self) -> int | None:
        """Spark's own watermark (ms) in the checkpoint; None without one."""
        entry = option(self.execution.offsetLog().getLatest())
        batch = None if entry is None else metadata(entry._2())
        return None if batch is None else int(batch.batchWatermarkMs()) or None

    def late_below(self) -> int:
        """Return the watermark (ms) at or below which Spark drops rows of the next batch: the one
        that is logged with the batch before it.
        """
        log = self.execution.offsetLog()
        logged = option(log.getLatestBatchId())
        if logged is None:
            return 0
        done = option(self.execution.commitLog().getLatestBatchId())
        # a batch that was not committed is replayed
        entry = option(log.get(logged if done == logged else logged - 1))
        batch = None if entry is None else metadata(entry)
        return 0 if batch is None else int(batch.batchWatermarkMs())

    def watermarks(self) -> list[QueryWatermark]:
        """Return the query's own `withWatermark`s."""
        return self._watermarks

    @cached_property
    def _sources(self) -> SourceOffsets:
        return SourceOffsets(self.execution, self.jvm)

    @cached_property
    def _watermarks(self) -> list[QueryWatermark]:
        return query_watermarks(self.execution.logicalPlan(), self.jvm, self._sources.index)

    def last_batch(self) -> int | None:
        """Return the number of the last batch; None before there is one."""
        last = self.execution.lastExecution()
        return None if last is None else int(last.currentBatchId())

    def counted(self, name: str, stand_in: Any) -> list[CountedPlace]:
        """Return what the last batch has counted by `DataFrame.observe` of this name, for each
        place in its plan that reads the stream of this half.
        """
        plan = self.execution.lastExecution().executedPlan()
        places = new_java(self.jvm, plan, "lockgate_spark.jvm", "CountedRows", plan).of(name, stand_in)
        return [
            CountedPlace.of(json.loads(counts), int(tasks), parse(start), parse(end))
            for counts, tasks, start, end in places
        ]

    def operators(self) -> tuple[object, list[StateOperator]] | None:
        """Which progress report is the last one, and its stateful operators; None before there is
        one.
        """
        last = self.execution.lastProgress()
        if last is None:
            return None
        join_stores = 1 if int(self._conf(_JOIN_FORMAT)) >= _ONE_STORE else _JOIN_STORES
        found = [_state_operator(one, join_stores) for one in last.stateOperators()]
        return (int(last.batchId()), str(last.timestamp())), found

    def windows(self) -> Tumbling | None:
        """Return the windows by which the query drops late rows, where each row comes to them."""
        return windows_of(self.execution.logicalPlan())

    def shape(self) -> QueryShape:
        """Return which rows the query can lose, by its plan, which must be known."""
        return query_shape(self.execution.logicalPlan(), self._watermarks)

    def takes_highest(self) -> bool:
        """Return whether Spark takes the highest of several watermarks:
        `multipleWatermarkPolicy=max`, by the configuration in the checkpoint.
        """
        return self._conf(POLICY).lower() == "max"

    def zone(self, name: str | None) -> Zone:
        """Return the clocks of a time zone; None stands for the zone that the session had when the
        query started.
        """
        return zone_of(self.jvm, name or self._conf(SESSION_ZONE))

    def _conf(self, key: str) -> str:
        """Return a key's value in the query's own session, which the checkpoint may have set."""
        return str(session_of(self.execution).conf().get(key))

    def _refuse_modes(self) -> None:
        trigger = class_name(self.execution.trigger())
        if trigger in _REFUSED:
            raise UnsupportedQuery(f"{trigger}: {_REFUSED[trigger]}. Use another trigger, or leave align() out")
        execution = class_name(self.execution)
        if execution != "MicroBatchExecution":
            raise UnsupportedQuery(f"{execution}: {_EXECUTIONS.get(execution, _ANOTHER)}")


def _state_operator(java: Any, join_stores: int) -> StateOperator:
    """Return an operator of a progress report. Its figures are sums over all tasks, also over those
    that computed a partition again, which the number of opened stores shows.
    """
    name, partitions = str(java.operatorName()), int(java.numShufflePartitions())
    stores = partitions * (join_stores if name == "symmetricHashJoin" else 1)
    once = 0 < int(java.numStateStoreInstances()) <= stores
    return StateOperator(name, int(java.numRowsDroppedByWatermark()), repeated=not once)


def query_id_of(batch: Any) -> str | None:
    """Spark's id of the query whose batch this is, inside its foreachBatch function; None for any
    other DataFrame.
    """
    spark = batch.sparkSession
    query_id = spark.sparkContext.getLocalProperty(QUERY_ID)
    if query_id is not None:
        return str(query_id)
    execution = _running_in(spark, spark._jsparkSession)
    return None if execution is None else str(execution.id().toString())


def _running_in(spark: Any, session: Any) -> Any | None:
    """Return the query of this session, which Spark makes for each run; None without one."""
    return _running(spark, lambda one: bool(session_of(one).equals(session)))


def _running(spark: Any, fits: Callable[[Any], bool]) -> Any | None:
    """Return the first running query of the application that matches; None without one."""
    running = spark._jsparkSession.sharedState().activeStreamingQueries()
    executions = (running.get(query_id) for query_id in list(running))  # None: the query has ended meanwhile
    return next((one for one in executions if one is not None and fits(one)), None)


def parse(offsets: str) -> Offsets:
    """Spark's JSON of Kafka offsets, `{"topic": {"0": 5}}`, by split name."""
    return {
        f"{topic}-{partition}": offset
        for topic, of_topic in json.loads(offsets).items()
        for partition, offset in of_topic.items()
    }


def render(offsets: Offsets) -> str:
    """Offsets by split name, as Spark's JSON of Kafka offsets: the inverse of `parse`."""
    by_topic: dict[str, dict[str, int]] = {}
    for split, offset in offsets.items():
        topic, _, partition = split.rpartition("-")
        by_topic.setdefault(topic, {})[partition] = offset
    return json.dumps(by_topic)
