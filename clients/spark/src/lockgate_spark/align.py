"""The public functions that align streams, and those for the batches of aligned queries. Modules
that need py4j are imported only for a classic session, because a Spark Connect client has no py4j.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame

from lockgate_spark import connect
from lockgate_spark.conf import enabled
from lockgate_spark.config import Alignment, check_alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.gates.gate import Gate
from lockgate_spark.jvm.inspection import check_spark
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.spark_lines import is_connect
from lockgate_spark.telemetry.view import BatchAlignment, BatchSlice


def align(df: DataFrame, alignment: Alignment | None = None) -> DataFrame:
    """Return `df` with each micro-batch ending at one event time in all partitions.

    Source options, schema, stateful operators and checkpoint do not change, and
    `maxOffsetsPerTrigger` limits each batch as before. Event time is Kafka's record timestamp, or
    `Alignment(event_time=…)`. If the coordinator is down, the query waits for it by default.

    Examples:
        >>> stream = spark.readStream.format("kafka").option("subscribe", "orders")
        >>> orders = lockgate_spark.align(stream.load())
        >>> counts = orders.withWatermark("timestamp", "10 minutes").groupBy(…).count()

    Args:
        df: A streaming DataFrame from `readStream.format("kafka")`, or one derived from it by
            transformations.
        alignment: The settings. Values of `spark.lockgate.*` in Spark's conf override them.

    Raises:
        UnsupportedQuery: `df`, its session or its Spark version cannot be aligned.
        ConfigurationError: A setting is invalid.
        CoordinatorRefused: The coordinator rejects the group's settings or the token.

    """
    return _align_all([df], alignment, "align(df")[0]


def align_all(dfs: Iterable[DataFrame], alignment: Alignment | None = None) -> list[DataFrame]:
    """Return the streams of one query aligned with each other, for joins and unions.

    Each micro-batch ends at one event time in all partitions of all streams. The settings and
    errors are those of `align`.

    Examples:
        >>> orders, payments = lockgate_spark.align_all([orders, payments])
        >>> joined = orders.join(payments, "order_id")

    """
    if hasattr(dfs, "sparkSession") or not isinstance(dfs, Iterable):
        raise UnsupportedQuery(f"align_all([df, …]): expected several DataFrames, not {type(dfs).__name__}")
    return _align_all(list(dfs), alignment, "align_all([…]")


def _align_all(dfs: list[DataFrame], alignment: Alignment | None, call: str) -> list[DataFrame]:
    check_alignment(alignment, call)
    for df in dfs:
        if not hasattr(df, "sparkSession"):  # older Sparks have several classes, and are refused below
            raise UnsupportedQuery(f"expected a streaming DataFrame, not {type(df).__name__}; align_all takes several")
    if not dfs or not enabled(dfs[0].sparkSession.conf):
        return dfs
    check_spark(dfs[0].sparkSession)
    if is_connect(dfs[0]):
        return connect.align_all(dfs, alignment or Alignment())
    from lockgate_spark.jvm.relation import align_all as align_all_by_py4j

    return align_all_by_py4j(dfs, alignment or Alignment())


def alignment_of(batch: DataFrame) -> BatchAlignment | None:
    """Return the plan that produced `batch`. Call it in the foreachBatch function of an aligned
    query.

    For a gated query, return the read limit, the blockers and the target (the highest event time)
    of this batch. Return None if the query is neither aligned nor gated, if Spark replays the batch
    of an aligned query from the checkpoint, or if a gated batch has no event times.
    """
    if is_connect(batch):
        # a gate runs in this very process, which Spark starts for one query
        gate = next((one for one in running.all_of(Gate) if not one.closed), None)
        return connect.ask_for(BatchAlignment, batch, "view") if gate is None else gate.view
    from lockgate_spark.jvm.query import query_id_of

    query_id = query_id_of(batch)
    found = running.of_query(AlignedRun, query_id) or running.of_query(Gate, query_id)
    return None if found is None else found.view


def slice_of(batch: DataFrame) -> BatchSlice | None:
    """Return the windows that `batch` covers. Call it in the foreachBatch function of a query with
    `Alignment(slice=…)`.

    This also works for a batch that Spark replays from the checkpoint. Return None if `slice` was
    not set when the batch was planned.
    """
    if is_connect(batch):
        return connect.ask_for(BatchSlice, batch, "slice")
    from lockgate_spark.jvm.query import query_id_of

    aligned = running.of_query(AlignedRun, query_id_of(batch))
    return None if aligned is None else aligned.slice


def report_progress(batch: DataFrame) -> None:
    """Report the progress of `batch` to the coordinator from Spark's executors, while the batch
    runs.

    Call it in foreachBatch before a long action, so that the group does not wait for the whole
    batch. If a report fails, a warning is logged and the batch continues. The call does nothing in
    observe mode, if Spark's conf switches alignment off, if Spark replays the batch from the
    checkpoint, or if the coordinator is away.

    Args:
        batch: The batch, with Kafka's columns `topic`, `partition` and `offset` and the columns
            that the event time is computed from.

    Raises:
        UnsupportedQuery: A column is missing, the query is not aligned through a coordinator, or
            the session belongs to Spark Connect.

    """
    if is_connect(batch):
        raise UnsupportedQuery("report_progress(batch) does not work in Spark Connect: leave it out")
    from lockgate_spark.jvm.progress_reports import report_progress as report_by_py4j

    report_by_py4j(batch)
