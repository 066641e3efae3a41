"""`align` and `align_all`: Kafka sources whose splits stay level in event time; `alignment_of`:
the plan that made a batch.
"""

from collections.abc import Sequence
from typing import Any

from py4j.clientserver import ClientServer
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

from lockgate_client.errors import ConfigurationError
from lockgate_spark.conf import configured, enabled
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.gates.gate import Gate
from lockgate_spark.jvm.opening import PlannedSource, aligned_run, check_before, check_session
from lockgate_spark.jvm.query import query_id_of
from lockgate_spark.jvm.relation import with_tables
from lockgate_spark.jvm.stream import Table
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.running import running
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.view import BatchAlignment


def align(df: DataFrame, alignment: Alignment | None = None) -> DataFrame:
    """`df`, read from Kafka, so that in each batch all its splits are read up to one event time.

    `df`: a streaming DataFrame from `readStream.format("kafka")`, or made from one by
    transformations. Options, schema, stateful operators and checkpoint stay what they are; the
    budget of a batch is the source's `maxOffsetsPerTrigger`. Event time is Kafka's record
    timestamp, or `Alignment(event_time=…)`. Raises `UnsupportedQuery`, `ConfigurationError` and
    `CoordinatorRefused`; a coordinator that is down is waited for.
    """
    return align_all([df], alignment)[0]


def align_all(dfs: Sequence[DataFrame], alignment: Alignment | None = None) -> list[DataFrame]:
    """Several streams of one query, planned together: all their splits stand level at every batch
    boundary. See `align`.
    """
    if alignment is not None and not isinstance(alignment, Alignment):
        raise ConfigurationError(
            f"align takes an Alignment, not {alignment!r}: write align(df, Alignment(max_drift={alignment!r}))"
            if isinstance(alignment, str | int | float)
            else f"align takes an Alignment, not {type(alignment).__name__}: write align(df, Alignment(…))"
        )
    conf = dfs[0].sparkSession.conf.getAll if dfs and hasattr(dfs[0], "sparkSession") else {}
    if not dfs or not enabled(conf):
        return list(dfs)
    for df in dfs:
        _check(df)
    alignment = configured(alignment or Alignment(), conf)
    check_before(dfs[0].sparkSession, alignment)
    return [_align(df, alignment) for df in dfs]


def alignment_of(batch: DataFrame) -> BatchAlignment | None:
    """The plan that made `batch`, inside the foreachBatch function of an aligned query; of a gated
    one what let it through.

    None if no plan of this run made it: a query without alignment, or a batch that Spark replays
    from the checkpoint.
    """
    aligned = aligned_run_of(batch)
    if aligned is None:
        gated = running.of_query(Gate, query_id_of(batch))
        return None if gated is None else gated.view
    return aligned.view


def slice_of(batch: DataFrame) -> BatchSlice | None:
    """The windows that `batch` holds, inside the foreachBatch function of a query with
    `Alignment(slice=…)`; of a batch that Spark replays from the checkpoint too. None where that is
    not known: `slice` was not set when the batch was planned.
    """
    aligned = aligned_run_of(batch)
    return None if aligned is None else aligned.slice


def aligned_run_of(batch: DataFrame) -> AlignedRun | None:
    """The aligned run that handed out `batch`; None where its query is not aligned."""
    return running.of_query(AlignedRun, query_id_of(batch))


def _align(df: DataFrame, alignment: Alignment) -> DataFrame:
    spark = df.sparkSession
    gateway: Any = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]

    def aligned(table: Any) -> Table:
        planned = PlannedSource.of(spark, table, alignment)
        return Table(
            table,
            gateway,
            lambda checkpoint: aligned_run(spark, checkpoint, planned.joint),
            planned.event_time,
            planned.late,
        )

    return with_tables(df, gateway, aligned, lambda table, plan: plan if table.late is None else table.late.over(plan))


def _check(df: DataFrame) -> None:
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise UnsupportedQuery(
            "this is a Spark Connect session: it has no JVM to reach, and align() needs a classic one"
        )
    if not isinstance(df, DataFrame):
        raise UnsupportedQuery(f"expected a streaming DataFrame, not {type(df).__name__}; several go to align_all([…])")
    if not df.isStreaming:
        raise UnsupportedQuery(
            "expected a streaming DataFrame (spark.readStream…load()); this one is a batch DataFrame"
        )
    check_session(df.sparkSession)
    if not isinstance(df.sparkSession.sparkContext._gateway, ClientServer):
        raise UnsupportedQuery(
            "PYSPARK_PIN_THREAD=false: Spark's Kafka source answers on Spark's own thread alone, and Python "
            "reaches that only with pinned"
            " threads. Leave the variable out, for true is the default, or leave align() out"
        )
