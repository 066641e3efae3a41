"""The run of a streaming query, read from Spark's `StreamExecution` in the JVM.

For a batch, Spark stores the query's id in the local properties of the query's thread. Without
pinned threads, and on threads that a user has started inside foreachBatch, the batch's session
identifies the run, since Spark makes a session for each run.
"""

from collections.abc import Callable
from contextlib import closing
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lockgate.plan.windows import Zone
from lockgate_http.errors import ConfigurationError
from lockgate_spark.errors import Stopped, UnsupportedQuery
from lockgate_spark.event_times import POLICY, QueryWatermark
from lockgate_spark.jvm.compiler import new_java
from lockgate_spark.jvm.failures import quiet_callbacks
from lockgate_spark.jvm.names import class_name, each, option, parsed
from lockgate_spark.jvm.watermarks import query_watermarks, source_index
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.spark_lines import session_of, start_offsets
from lockgate_spark.spark_run import StateOperator

QUERY_ID = "sql.streaming.queryId"
_SESSION_ZONE = "spark.sql.session.timeZone"
_UNTIL_MS = 4_102_444_800_000  # 2100
_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_SEVERAL = "spark.sql.streaming.statefulOperator.allowMultiple"
_JOIN_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
_JOIN_STORES, _ONE_STORE = 4, 3  # stores of one partition; from which format on it has one

_REFUSED = {
    "OneTimeTrigger": "Trigger.Once leaves unread what has to wait. Use availableNow=True, or leave align() out",
    "RealTimeTrigger": "real-time mode refuses rate limits. Use another trigger, or leave align() out",
    "AsyncProgressTrackingMicroBatchExecution": (
        "offsets are not logged before a batch runs, so a plan could come out differently after a failure. Leave out"
        " asyncProgressTrackingEnabled, or align()"
    ),
    "SequentialUnionExecution": (
        "followedBy() reads one source to its end before the next, but a plan is for all sources together. Align the "
        "union instead, align(history.union(live)), which reads what is older first; or leave align() out"
    ),
}
_ANOTHER = "this way to run a query is unknown to this version of lockgate. Leave align() out"
NO_RUN = "this batch is of no streaming query that runs; a gate goes to writeStream.foreachBatch"


class QueryRun:
    """One run of one query, as the protocol `Checkpointed` documents it."""

    def __init__(self, execution: Any, jvm: Any) -> None:
        self.execution, self.jvm = execution, jvm
        self.query_id, self.run_id = str(execution.id().toString()), str(execution.runId().toString())
        self.name: str | None = execution.name()
        trigger = execution.trigger()
        self.available_now = class_name(trigger) == "AvailableNowTrigger"
        self.interval_s = trigger.intervalMs() / 1000 if class_name(trigger) == "ProcessingTimeTrigger" else 0.0
        aligned = running.of_query(AlignedRun, self.query_id)
        self.in_group = aligned is not None and aligned.membership is not None

    @classmethod
    def opening(cls, spark: Any, checkpoint: str) -> "QueryRun":
        """Return the run that opens the source with this `checkpoint`, in any session."""
        root = checkpoint.rpartition("/sources/")[0]
        execution = _running(spark, lambda one: str(one.resolvedCheckpointRoot()) == root)
        if execution is None:
            raise UnsupportedQuery(f"no running query has the checkpoint {root}; start the stream with writeStream")
        refuse_modes(execution)
        return cls(execution, spark._jvm)

    @classmethod
    def of_batch(cls, batch: Any) -> "QueryRun":
        quiet_callbacks()
        spark, query_id = batch.sparkSession, query_id_of(batch)
        execution = _running(spark, lambda one: str(one.id().toString()) == query_id)
        if execution is None:
            raise UnsupportedQuery(NO_RUN)
        return cls(execution, spark._jvm)

    @classmethod
    def of_plan(cls, spark: Any, plan: Any) -> "QueryRun | None":
        """Return the run of the batch that the logical plan reads, if any. A client of Spark
        Connect sees the batch in a different session from the run's.
        """
        batches = [leaf for leaf in each(plan.collectLeaves()) if class_name(leaf) == "LogicalRDD"]
        sessions = [leaf.otherCopyArgs().apply(0) for leaf in batches]
        execution = _running(spark, lambda one: any(session_of(one).equals(session) for session in sessions))
        return None if execution is None else cls(execution, spark._jvm)

    def is_active(self) -> bool:
        return bool(self.execution.isActive())

    def check_active(self) -> None:
        if not self.is_active():
            raise Stopped()
        try:
            # with pinned threads, py4j runs a callback on Spark's thread, which stop() interrupts
            self.jvm.java.lang.Thread.sleep(1)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getName() != "java.lang.InterruptedException":
                raise
            raise Stopped() from None  # without py4j's text

    def failed(self) -> bool:
        return bool(self.execution.exception().isDefined())

    def ends_within(self, seconds: float) -> bool:
        try:
            return bool(self.execution.awaitTermination(max(1, int(seconds * 1000))))
        except (Py4JJavaError, PySparkException):
            return True  # it has ended with an error

    def index_of(self, stream: Any) -> int | None:
        """Return the index of the source that a `stream` in the plan reads, if it is aligned."""
        if not self.jvm.java.lang.reflect.Proxy.isProxyClass(stream.getClass()):
            return None
        return next(index for index, one in self._streams.items() if self._same(one, stream))

    def start_offsets(self, source: int) -> Offsets | None:
        stream = self._streams.get(source)
        return None if stream is None else parsed(option(start_offsets(self.execution).get(stream)))

    def logged_offsets(self, source: int, batch: int | None = None) -> Offsets | None:
        """Return the offsets at which `batch` ends for `source`; without `batch`, the last one.

        Format 1 of the log lists offsets by the source's place in the plan; a source that is used
        twice has two places. Format 2 (`OffsetMap`) has them by an id, which is the source's name
        or one of its places.
        """
        logged, stream = self._logged(batch), self._streams.get(source)
        if logged is None or stream is None:
            return None
        if class_name(logged) == "OffsetMap":
            by_id, named = logged.offsetsMap(), self.execution.sourceIdMap()
            ids = [str(name) for name in each(named.keys())]
            logged_ids = [one for one in ids if self._same(named.apply(one), stream) and by_id.contains(one)]
            return parsed(option(by_id.apply(logged_ids[0]))) if logged_ids else None
        offsets, streams = logged.offsets(), each(self.execution.sources())
        place = next(place for place, other in enumerate(streams) if self._same(other, stream))
        return parsed(option(offsets.apply(place))) if place < offsets.size() else None

    def logged_watermark(self, batch: int | None = None) -> int | None:
        """Return the watermark (ms) logged with `batch`, or with the last one; None without one."""
        logged = self._logged(batch)
        if logged is None:
            return None
        # the field's name depends on the version of Spark, its position does not
        element = logged.productElement(1)
        metadata = element if class_name(logged) == "OffsetMap" else option(element)
        return None if metadata is None else int(metadata.batchWatermarkMs()) or None

    def _logged(self, batch: int | None) -> Any:
        if batch is not None:
            return option(self.execution.offsetLog().get(batch))
        last = option(self.execution.offsetLog().getLatest())
        return None if last is None else last._2()

    @cached_property
    def _streams(self) -> dict[int, Any]:
        """The streams by index, which is a place in the plan, or of a name if all sources have one
        (source evolution, from Spark 4.2 on).
        """
        if str(session_of(self.execution).conf().get(_EVOLUTION, "false")).lower() == "true":
            by_id = self.execution.sourceIdMap()
            return {source_index(str(name)): by_id.apply(name) for name in each(by_id.keys())}
        return dict(enumerate(each(self.execution.sources().distinct())))

    def _same(self, one: Any, other: Any) -> bool:
        # py4j calls a proxy's `equals` in Python, where Java objects have other names
        identity = self.jvm.java.lang.System.identityHashCode
        return bool(identity(one) == identity(other))

    def memory(self, name: str = "") -> "CheckpointMemory":
        return CheckpointMemory(self.execution, self.jvm, name)

    def late_below_in(self, batch: int) -> int:
        """Return the watermark (ms) at or below which Spark drops rows of `batch`; 0 if it was not
        logged. Spark logs it with the previous batch, or with `batch` itself if the query's conf
        forbids several stateful operators in a plan.
        """
        return self.logged_watermark(batch if self.conf(_SEVERAL) == "false" else batch - 1) or 0

    def last_committed(self) -> int | None:
        done = option(self.execution.commitLog().getLatestBatchId())
        return None if done is None else int(done)

    def repeats(self) -> bool:
        """Return whether Spark runs the last logged batch again, because it is not committed."""
        return bool(option(self.execution.offsetLog().getLatestBatchId()) != self.last_committed())

    def watermarks(self) -> list[QueryWatermark]:
        return self._watermarks

    @cached_property
    def _watermarks(self) -> list[QueryWatermark]:
        return query_watermarks(self.execution.logicalPlan(), self.jvm, self.index_of)

    def last_batch(self) -> int | None:
        last = self.execution.lastExecution()
        return None if last is None else int(last.currentBatchId())

    def dropped(self) -> bool:
        """Return whether an operator of the last batch has dropped late rows."""
        count = new_java(self.jvm, self.execution, "lockgate_spark.jvm", "DroppedCount")
        return bool(count.isPositive(self.execution.lastExecution().executedPlan()))

    def operators(self) -> tuple[object, list[StateOperator]] | None:
        last = self.execution.lastProgress()
        if last is None:
            return None
        join_stores = 1 if int(self.conf(_JOIN_FORMAT)) >= _ONE_STORE else _JOIN_STORES
        found = [_state_operator(one, join_stores) for one in last.stateOperators()]
        return (int(last.batchId()), str(last.timestamp())), found

    def takes_highest(self) -> bool:
        return self.conf(POLICY).lower() == "max"

    def zone(self, name: str | None) -> Zone:
        return zone_of(self.jvm, name or self.conf(_SESSION_ZONE))

    def conf(self, key: str) -> str:
        """Return the value of `key` in the query's session, which may be from the checkpoint."""
        return str(session_of(self.execution).conf().get(key))


def refuse_modes(execution: Any) -> None:
    trigger, kind = class_name(execution.trigger()), class_name(execution)
    refused = trigger if trigger in _REFUSED else kind
    if refused != "MicroBatchExecution":
        raise UnsupportedQuery(f"{refused}: {_REFUSED.get(refused, _ANOTHER)}")


def _state_operator(java: Any, join_stores: int) -> StateOperator:
    """Return a stateful operator of Spark's progress. Computed once, a partition opens one state
    store, or `join_stores` in a join.
    """
    name, partitions = str(java.operatorName()), int(java.numShufflePartitions())
    stores = partitions * (join_stores if name == "symmetricHashJoin" else 1)
    once = 0 < int(java.numStateStoreInstances()) <= stores
    return StateOperator(name, int(java.numRowsDroppedByWatermark()), repeated=not once)


def query_id_of(batch: Any) -> str | None:
    spark = batch.sparkSession
    query_id = spark.sparkContext.getLocalProperty(QUERY_ID)
    if query_id is not None:
        return str(query_id)
    execution = _running(spark, lambda one: bool(session_of(one).equals(spark._jsparkSession)))
    return None if execution is None else str(execution.id().toString())


def _running(spark: Any, fits: Callable[[Any], bool]) -> Any | None:
    active = spark._jsparkSession.sharedState().activeStreamingQueries()
    executions = (active.get(query_id) for query_id in list(active))  # None: the query has ended meanwhile
    return next((one for one in executions if one is not None and fits(one)), None)


def zone_of(jvm: Any, name: str) -> Zone:
    """Return the zone of this name from the JVM's tables, from 1970 to 2100, so that window-aligned
    batches agree with `date_trunc`.
    """
    rules = zone_rules(jvm, name)
    instant = jvm.java.time.Instant.EPOCH
    before, changes = int(rules.getOffset(instant).getTotalSeconds()) * 1000, []
    while (change := rules.nextTransition(instant)) is not None:
        instant = change.getInstant()
        at = int(instant.toEpochMilli())
        if at >= _UNTIL_MS:
            break
        changes.append((at, int(change.getOffsetAfter().getTotalSeconds()) * 1000))
    return Zone(before, tuple(changes))


def zone_rules(jvm: Any, name: str) -> Any:
    try:
        return jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils.getZoneId(name).getRules()
    except (Py4JJavaError, PySparkException) as error:
        raise ConfigurationError(
            f'Alignment(slice_zone={name!r}): expected a time zone such as "Europe/Berlin" or "UTC", or "epoch"; '
            f"Spark says: {str(error).partition('. ')[0]}"
        ) from None


class CheckpointMemory:
    """The files `<name>0` and `<name>1` in `<checkpoint>/lockgate`. They are written in turn, so
    one of them is always complete, and no atomic rename is needed.
    """

    def __init__(self, execution: Any, jvm: Any, name: str = "") -> None:
        folder = f"{execution.resolvedCheckpointRoot()}/lockgate"
        self._paths = [jvm.org.apache.hadoop.fs.Path(folder, f"{name}{n}") for n in range(2)]
        self._files = self._paths[0].getFileSystem(execution.sparkSession().sessionState().newHadoopConf())
        self._io = jvm.org.apache.hadoop.io.IOUtils

    def read(self) -> list[str]:
        return [self._text(path) for path in self._paths if self._files.exists(path)]

    def write(self, number: int, text: str) -> None:
        with closing(self._files.create(self._paths[number % 2], True)) as out:
            out.write(text.encode())

    def _text(self, path: Any) -> str:
        try:
            with closing(self._files.open(path)) as source:
                return bytes(self._io.readFullyToByteArray(source)).decode(errors="replace")
        except Py4JJavaError as error:  # a checksum that is wrong, for example
            return str(error.java_exception)
