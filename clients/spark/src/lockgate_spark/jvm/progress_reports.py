"""Progress reports from Spark's executors, in a classic session.

An aggregate of a batch has one row for each split. The task that computes it sends these rows to
the coordinator over HTTP, before the batch is committed. The report of a split is the highest event
time in the batch − out-of-orderness − 1, without records that the plan leaves out. It only helps
other queries, so a failed report fails neither the task nor the batch.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyspark.sql.functions as F
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from lockgate.wire.events import ProgressEvent, SplitProgress
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.config import Coordinator
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import Coordination
from lockgate_spark.conf import enabled
from lockgate_spark.config import credible_at
from lockgate_spark.errors import Stopped, UnsupportedQuery
from lockgate_spark.jvm.event_time import EventTime
from lockgate_spark.jvm.query import QueryRun, query_id_of
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.spark_run import stoppable
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")

Reader = tuple[int, int]  # the number of its subtask, and its epoch


def report_progress(batch: DataFrame) -> None:
    aligned = running.of_query(AlignedRun, query_id_of(batch))
    if not enabled(batch.sparkSession.conf) or (aligned is not None and aligned.alignment.mode == "observe"):
        return  # switched off from outside, and the job is to run as it is
    if aligned is None or (member := aligned.membership) is None or aligned.alignment.coordinator is None:
        raise UnsupportedQuery("report_progress(batch) needs a query that is aligned through a coordinator")
    view = aligned.view
    if view is None:
        return  # a batch replayed from the checkpoint: no plan of this run, and no registration yet
    rows = _by_split(batch, aligned, view)
    if member.coordination is not Coordination.CONNECTED:
        return  # an outage, which was warned of: the batch would wait for the timeout
    batch_id, disorder = QueryRun.of_batch(batch).last_batch() or 0, aligned.planner.bounds.now().disorder
    send = _sender(aligned.alignment.coordinator, member.source, _readers(member, view), batch_id, disorder)
    why, failed = _sent(aligned, rows, send), aligned.progress_fails
    aligned.progress_fails = why is not None
    if why is not None and not failed:
        said = "group %s: the progress report of %s failed, and the batch continues without it: %s"
        log.warning(said, member.group, member.source, why)
    elif why is None and failed:
        log.warning("group %s: progress reports of %s succeed again", member.group, member.source)


def _by_split(batch: DataFrame, aligned: AlignedRun, view: BatchAlignment) -> DataFrame:
    """Return a row for each split, with the next offset (`end`) and the highest `event_time`."""
    # as the plan that made the batch
    credible = credible_at(aligned.alignment, int(view.planned_at * 1000))
    ms = F.col("ms")
    try:
        taken = batch.select("topic", "partition", "offset", _event_time(batch, aligned, view).alias("ms"))
    except AnalysisException as error:
        raise UnsupportedQuery(
            "report_progress(batch) needs Kafka's columns topic, partition and offset, and those that event time "
            f"is made of: hand over the batch as foreachBatch got it. {str(error).splitlines()[0]}"
        ) from None
    highest = F.max(F.when(ms.between(credible.earliest, credible.latest), ms))
    counted = (F.max("offset") + 1).alias("end"), F.count("*").alias("rows"), highest.alias("event_time")
    return taken.groupBy("topic", "partition").agg(*counted).coalesce(1)


def _event_time(batch: DataFrame, aligned: AlignedRun, view: BatchAlignment) -> Column:
    """Return the event time in ms. If the sources have different ones, the topic decides."""
    column = None
    for i, source in aligned.sources.items():
        own = source.event_time
        in_ms = F.unix_millis(own.timestamp(batch.sparkSession) if isinstance(own, EventTime) else "timestamp")
        topics = sorted({each.partition.rpartition("-")[0] for each in view.partitions if each.source == i})
        column = in_ms if column is None else F.when(F.col("topic").isin(topics), in_ms).otherwise(column)
    assert column is not None
    return column


def _readers(membership: Membership, view: BatchAlignment) -> dict[str, Reader]:
    """Return the registered reader of each split, but of none that two sources read."""
    times = Counter(each.partition for each in view.partitions)
    once = [each for each in view.partitions if times[each.partition] == 1]
    epochs = {i: membership.epoch(i) for i in {each.source for each in once}}
    return {each.partition: (each.source, epoch) for each in once if (epoch := epochs[each.source]) is not None}


def _sender(
    coordinator: Coordinator, source: str, readers: dict[str, Reader], batch_id: int, disorder: int
) -> Callable[[Iterable[Any]], Iterator[str]]:
    """Return the function of the task: it sends the rows, in one request for each reader, and
    yields the error message of each request that fails. `disorder` is in ms.
    """

    def send(rows: Iterable[Any]) -> Iterator[str]:
        by_reader: dict[Reader, dict[str, SplitProgress]] = {}
        for row in rows:
            split = f"{row['topic']}-{row['partition']}"
            # a reader is missing if the coordinator was not there, or has forgotten it
            if split in readers and row["event_time"] is not None:
                watermark = row["event_time"] - disorder - 1
                progress = SplitProgress(watermark=watermark, position=row["end"], rows=row["rows"])
                by_reader.setdefault(readers[split], {})[split] = progress
        context = TaskContext.get()
        attempt = 0 if context is None else context.attemptNumber()
        for (subtask, epoch), splits in by_reader.items():
            event = ProgressEvent(subtask=subtask, epoch=epoch, batch_id=batch_id, attempt=attempt, splits=splits)
            try:
                with CoordinatorClient(coordinator) as client:
                    client.offer(source, event)
            except Exception as error:  # neither the batch nor the other readers are to fail for it
                yield str(error)

    return send


def _sent(aligned: AlignedRun, rows: DataFrame, send: Callable[[Iterable[Any]], Iterator[str]]) -> str | None:
    """Run the Spark job that sends the reports. Return the first error message, if any."""
    try:
        with stoppable(aligned.run):
            refused = rows.rdd.mapPartitions(send).collect()
    except Stopped:
        raise
    except Exception:
        log.debug("the job that reports progress failed", exc_info=True)
        return "the Spark job that reports it failed; see Spark's log for the reason"
    return refused[0] if refused else None
