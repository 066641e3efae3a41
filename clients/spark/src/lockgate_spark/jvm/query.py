"""The run of a streaming query, read off Spark's `StreamExecution` on the JVM.

Spark plans on a thread of its own and tells there, by local properties, which query it plans for; py4j answers a callback on the same
thread, so that they can be read from Python.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.memory import CheckpointMemory
from lockgate_spark.jvm.names import class_name, option
from lockgate_spark.jvm.watermarks import query_watermarks
from lockgate_spark.logs.kafka import Offsets
from lockgate_spark.planning.watermarks import POLICY, QueryWatermark

QUERY_ID = "sql.streaming.queryId"

_REFUSED = {
    "ContinuousTrigger": "Trigger.Continuous reads without batches, so that there is nothing to plan",
    "OneTimeTrigger": "Trigger.Once ends after one batch, and what had to wait would be left unread; availableNow=True waits for it",
    "RealTimeTrigger": "real-time mode refuses rate limits, and with them alignment",
}


@dataclass(frozen=True)
class QueryRun:
    """One run of one query. Raises `UnsupportedQuery` where the way it runs cannot be aligned."""

    execution: Any
    jvm: Any

    @classmethod
    def current(cls, spark: Any) -> "QueryRun":
        """The run that the calling (stream) thread plans for. `spark`: the Python session in which the query was started."""
        query_id = spark.sparkContext.getLocalProperty(QUERY_ID)
        query = spark._jsparkSession.streams().get(query_id) if query_id else None
        if query is None:
            raise UnsupportedQuery("the stream is read outside of a streaming query that this session knows; start it with writeStream")
        run = cls(query.streamingQuery(), spark._jvm)
        run._refuse_modes()
        return run

    @classmethod
    def of_batch(cls, batch: Any) -> "QueryRun":
        """The run that has handed out `batch`, on the (stream) thread of its foreachBatch function, whatever session started it."""
        session = batch.sparkSession
        query_id = session.sparkContext.getLocalProperty(QUERY_ID)
        running = session._jsparkSession.sharedState().activeStreamingQueries()
        execution = running.get(session._jvm.java.util.UUID.fromString(query_id)) if query_id else None
        if execution is None:
            raise UnsupportedQuery("this batch is of no streaming query that runs; a gate goes to writeStream.foreachBatch")
        return cls(execution, session._jvm)

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
        """Whether the run ends when it has read what was there at its start."""
        return class_name(self.execution.trigger()) == "AvailableNowTrigger"

    @property
    def interval_s(self) -> float:
        """How far apart its triggers are: `ProcessingTime`'s interval; 0 where one follows the other."""
        trigger = self.execution.trigger()
        return float(trigger.intervalMs()) / 1000 if class_name(trigger) == "ProcessingTimeTrigger" else 0.0

    def is_active(self) -> bool:
        """False once the query was told to stop."""
        return bool(self.execution.isActive())

    def failed(self) -> bool:
        """Whether the run has ended with an error."""
        return bool(self.execution.exception().isDefined())

    def ends_within(self, seconds: float) -> bool:
        """Waits for the end of the run, for that long at most; whether it has come. Not on the query's own thread."""
        try:
            return bool(self.execution.awaitTermination(max(1, int(seconds * 1000))))
        except (Py4JJavaError, PySparkException):
            return True  # with an error

    def logged_offsets(self, source: int) -> Offsets | None:
        """Where the checkpoint's last batch ends for this source; None without one."""
        entry = option(self.execution.offsetLog().getLatest())
        if entry is None:
            return None
        offsets = entry._2().offsets()
        logged = option(offsets.apply(source)) if source < offsets.size() else None
        return None if logged is None else parse(logged.json())

    def memory(self) -> CheckpointMemory:
        """What is kept beside the checkpoint."""
        return CheckpointMemory(self.execution, self.jvm)

    def logged_watermark(self) -> int | None:
        """Spark's own watermark (ms) in the checkpoint; None without one."""
        entry = option(self.execution.offsetLog().getLatest())
        metadata = None if entry is None else option(entry._2().productElement(1))  # an Option, under names that differ by version
        return None if metadata is None else int(metadata.batchWatermarkMs()) or None

    def late_below(self) -> int:
        """The watermark (ms) at or below which Spark drops rows of the next batch: the one that is logged with the batch before it."""
        log = self.execution.offsetLog()
        logged = option(log.getLatestBatchId())
        if logged is None:
            return 0
        done = option(self.execution.commitLog().getLatestBatchId())
        entry = option(log.get(logged if done == logged else logged - 1))  # a batch that was not committed is replayed
        metadata = None if entry is None else option(entry.productElement(1))
        return 0 if metadata is None else int(metadata.batchWatermarkMs())

    def watermarks(self) -> list[QueryWatermark]:
        """The query's own `withWatermark`s."""
        return self._watermarks

    @cached_property
    def _watermarks(self) -> list[QueryWatermark]:
        return query_watermarks(self.execution.logicalPlan(), self.jvm)  # hundreds of calls into the JVM

    def observed(self, name: str) -> tuple[int, str] | None:
        """The last batch that ran, and what its `DataFrame.observe` of this name gave: JSON. None where there is nothing yet."""
        last = self.execution.lastExecution()
        found = None if last is None else option(last.observedMetrics().get(name))
        return None if found is None else (int(last.currentBatchId()), str(found.json()))

    def takes_highest(self) -> bool:
        """Whether Spark takes the highest of several watermarks: `multipleWatermarkPolicy=max`, as the checkpoint has it."""
        return str(self.execution.sparkSessionForStream().conf().get(POLICY)).lower() == "max"

    def _refuse_modes(self) -> None:
        trigger = class_name(self.execution.trigger())
        if trigger in _REFUSED:
            raise UnsupportedQuery(f"{trigger}: {_REFUSED[trigger]}. Use another trigger, or leave align() out")
        if class_name(self.execution) != "MicroBatchExecution":
            raise UnsupportedQuery(
                f"{class_name(self.execution)}: offsets are not logged before a batch runs, so a plan could come out differently after a"
                " failure. Leave out asyncProgressTrackingEnabled, or align()"
            )


def parse(offsets: str) -> Offsets:
    """Spark's JSON of Kafka offsets, `{"topic": {"0": 5}}`, by split name."""
    return {f"{topic}-{partition}": offset for topic, of_topic in json.loads(offsets).items() for partition, offset in of_topic.items()}


def render(offsets: Offsets) -> str:
    """The other way round."""
    found: dict[str, dict[str, int]] = {}
    for split, offset in offsets.items():
        topic, _, partition = split.rpartition("-")
        found.setdefault(topic, {})[partition] = offset
    return json.dumps(found)
