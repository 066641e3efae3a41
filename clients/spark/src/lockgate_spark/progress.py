"""Executors say how far they have got: `report_progress(batch)`, called in a foreachBatch function.

One small aggregate, a row a split, is sent by the tasks themselves over HTTP, so that the rest of the group learns of a long batch
before it is committed. It reads the batch's Kafka columns once more, unless the batch is persisted.
"""

from collections.abc import Callable, Iterable
from typing import Any

from pyspark import TaskContext
from pyspark.sql import DataFrame

from lockgate.events import ProgressEvent, SplitProgress
from lockgate_spark.align import session_of
from lockgate_spark.conf import enabled
from lockgate_spark.config import Coordinator
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.group.client import CoordinatorClient

_BATCH_ID = "streaming.sql.batchId"


def report_progress(batch: DataFrame) -> None:
    """Lets the executors report the splits of `batch` to the group's coordinator.

    `batch` still has Kafka's columns `topic`, `partition`, `offset` and `timestamp`. Raises `UnsupportedQuery` where the query is not
    aligned through a coordinator, unless Spark's conf has switched alignment off; a coordinator that cannot be reached fails nothing.
    """
    session = session_of(batch)
    if not enabled(batch.sparkSession.conf.getAll) or (session is not None and session.alignment.observes):
        return  # switched off from outside, and the job is to run as it is
    if session is None or session.membership is None or session.alignment.coordinator is None:
        raise UnsupportedQuery("report_progress(batch) needs a query that is aligned through a coordinator, and its own batch")
    if session.view is None:
        return  # a batch replayed from the checkpoint: no plan of this run, and no registration yet
    membership = session.membership
    epochs = {subtask: epoch for subtask in session.sources if (epoch := membership.epoch(subtask)) is not None}
    batch_id = int(batch.sparkSession.sparkContext.getLocalProperty(_BATCH_ID) or 0)
    send = _sender(
        session.alignment.coordinator,
        membership.source,
        {split.split: (split.source, epochs[split.source]) for split in session.view.splits if split.source in epochs},
        batch_id,
        session.alignment.bounds.disorder,
    )
    rows = batch.selectExpr("topic", "partition", "offset", "unix_millis(timestamp) AS event_time")
    rows.groupBy("topic", "partition").agg({"offset": "max", "event_time": "max", "*": "count"}).foreachPartition(send)


def _sender(
    coordinator: Coordinator, source: str, readers: dict[str, tuple[int, int]], batch_id: int, disorder: int
) -> Callable[[Iterable[Any]], None]:
    """What runs in each task: rows of the aggregate in, one request a reader out."""

    def send(rows: Iterable[Any]) -> None:
        by_reader: dict[tuple[int, int], dict[str, SplitProgress]] = {}
        for row in rows:
            split = f"{row['topic']}-{row['partition']}"
            progress = SplitProgress(watermark=row["max(event_time)"] - disorder - 1, position=row["max(offset)"] + 1, rows=row["count(1)"])
            if split in readers:  # else the coordinator was not there, or has forgotten the reader
                by_reader.setdefault(readers[split], {})[split] = progress
        context = TaskContext.get()
        attempt = 0 if context is None else context.attemptNumber()
        with CoordinatorClient(coordinator) as client:
            for (subtask, epoch), splits in by_reader.items():
                client.offer(source, ProgressEvent(subtask=subtask, epoch=epoch, batch_id=batch_id, attempt=attempt, splits=splits))

    return send
