"""`align` and `align_all`: Kafka sources whose splits stay level in event time; `alignment_of`:
the plan that made a batch.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pyspark
from py4j.clientserver import ClientServer
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

from lockgate_client.errors import ConfigurationError
from lockgate_spark.conf import configured, enabled
from lockgate_spark.config import EPOCH, Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.gates.gate import Gate
from lockgate_spark.group.joining import check_coordinator, joined
from lockgate_spark.jvm.event_time import EventTime
from lockgate_spark.jvm.late import LateRows
from lockgate_spark.jvm.query import QueryRun, query_id_of
from lockgate_spark.jvm.relation import with_tables
from lockgate_spark.jvm.spark_gauges import spark_gauges
from lockgate_spark.jvm.stream import Table
from lockgate_spark.jvm.zone import check_zone
from lockgate_spark.packages import CONNECTORS
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.report.files import folder_of, write_at_the_end
from lockgate_spark.report.run_report import RunReport
from lockgate_spark.running import running
from lockgate_spark.telemetry.batch_slice import BatchSlice
from lockgate_spark.telemetry.view import BatchAlignment

log = logging.getLogger("lockgate")

TESTED = tuple(CONNECTORS)
"""Spark versions whose internals the proxies are known to fit."""

_SEVERAL = "spark.sql.streaming.statefulOperator.allowMultiple"
_V1_SWITCH = "spark.sql.streaming.disabledV2MicroBatchReaders"


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
    if alignment.slice_zone not in (None, EPOCH):
        check_zone(dfs[0].sparkSession._jvm, str(alignment.slice_zone))
    if alignment.observes:
        log.info("mode observe: what alignment would do is planned and counted, and nothing is changed")
        if folder_of(alignment.report) is not None:
            write_at_the_end()
    elif alignment.coordinator is not None:
        check_coordinator(alignment)
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
    expression, joint = (
        alignment.event_time,
        replace(alignment, event_time=None),
    )  # event time is the source's own, the plan is common

    def aligned(table: Any) -> Table:
        event_time = None if expression is None else EventTime.over(spark, table, expression)
        late = None
        if alignment.counts_late_rows and not _counting_breaks(alignment, spark):
            micros = event_time is None or event_time.micros
            late = LateRows(
                spark, expression if event_time is not None and expression else "timestamp", micros, alignment.observes
            )
        return Table(table, gateway, lambda checkpoint: _aligned_run(spark, checkpoint, joint), event_time, late)

    return with_tables(df, gateway, aligned, lambda table, plan: plan if table.late is None else table.late.over(plan))


def _aligned_run(spark: Any, checkpoint: str, alignment: Alignment) -> AlignedRun:
    """The aligned run of the query that opens its source with this checkpoint. It belongs to the
    run, so an aligned DataFrame may be started twice.
    """
    run = QueryRun.opening(spark, checkpoint)

    def make() -> AlignedRun:
        gauges = spark_gauges(run, spark.sparkContext._gateway)
        report = None
        if alignment.observes:
            folder, in_group = folder_of(alignment.report), alignment.coordinator is not None
            report = RunReport(run, folder, time.time, time.monotonic, in_group)
        return AlignedRun(alignment, run, joined(alignment, run), gauges=gauges, report=report)

    aligned = running.of_run(AlignedRun, run.query_id, run.run_id, make)
    if aligned.alignment != alignment:
        aligned.end()
        raise ConfigurationError(_unequal(aligned.alignment, alignment))
    return aligned


def _counting_breaks(alignment: Alignment, spark: Any) -> bool:
    """Whether the query could not run with the count, and nobody has asked for it."""
    several = str(spark.conf.get(_SEVERAL, "true")).lower() == "true"
    return alignment.late_rows is None and not several


def _unequal(one: Alignment, other: Alignment) -> str:
    differ = [each.name for each in fields(Alignment) if getattr(one, each.name) != getattr(other, each.name)]
    values = " and ".join(
        f"Alignment({', '.join(f'{name}={getattr(each, name)!r}' for name in differ)})" for each in (one, other)
    )
    return (
        f"streams of one query are aligned with {values}: one query has one plan. Give all of them the same, or "
        "hand them to align_all"
    )


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
    spark = df.sparkSession
    version = ".".join(spark.version.split(".")[:2])
    if version not in TESTED:
        raise UnsupportedQuery(
            f"Spark {spark.version} (pyspark {pyspark.__version__}) is unknown to this version of lockgate, "
            "which leans on internals of"
            f" Spark {', '.join(TESTED)}. Use one of these, or a newer lockgate"
        )
    if not isinstance(spark.sparkContext._gateway, ClientServer):
        raise UnsupportedQuery(
            "PYSPARK_PIN_THREAD=false: Spark's Kafka source answers on Spark's own thread alone, and Python "
            "reaches that only with pinned"
            " threads. Leave the variable out, for true is the default, or leave align() out"
        )
    if "KafkaSourceProvider" in str(spark.conf.get(_V1_SWITCH, "")):
        raise UnsupportedQuery(
            f"{_V1_SWITCH} forces Kafka to its V1 source, which cannot be aligned. Take KafkaSourceProvider out of it"
        )
