"""Opens the aligned run of a query, for `align` in a classic session and for the host."""

import logging
import threading
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import fields, replace
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from lockgate_http.errors import ConfigurationError
from lockgate_http.group.joining import check_coordinator
from lockgate_spark.config import EPOCH, Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.joining import agreement_of, joined, warn_of_options
from lockgate_spark.jvm.dropped import LateCount
from lockgate_spark.jvm.inspection import check_spark
from lockgate_spark.jvm.kept import KeptRows
from lockgate_spark.jvm.query import QueryRun, zone_rules
from lockgate_spark.jvm.spark_gauges import gauges_of
from lockgate_spark.jvm.stand_in import send_at_once
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.report.files import folder_of, write_at_the_end
from lockgate_spark.report.run_report import RunReport
from lockgate_spark.running import running
from lockgate_spark.spark_lines import session_of

log = logging.getLogger("lockgate")

_V1_SWITCH = "spark.sql.streaming.disabledV2MicroBatchReaders"


def check_session(spark: Any) -> None:
    check_spark(spark)
    if "KafkaSourceProvider" in str(spark.conf.get(_V1_SWITCH, "")):
        raise UnsupportedQuery(f"{_V1_SWITCH} forces Kafka to its V1 source: take KafkaSourceProvider out of it")


def check_before(spark: Any, alignment: Alignment) -> None:
    if alignment.slice_zone not in (None, EPOCH):
        zone_rules(spark._jvm, str(alignment.slice_zone))
    if alignment.mode == "observe":
        log.info("mode observe: Spark reads what it would read without lockgate; plans are made but not applied")
        if folder_of(alignment.report) is not None:
            write_at_the_end()
    elif alignment.coordinator is not None:
        check_coordinator(alignment.coordinator, agreement_of(alignment))


class SparkAlignedRun(AlignedRun):
    """An aligned run in Spark. `table` and `count` are None unless `late_rows` asks for them."""

    table: KeptRows | None = None
    count: LateCount | None = None


def open_run(
    spark: Any, alignment: Alignment, checkpoint: str, kept: MutableMapping[str, str] | None = None
) -> SparkAlignedRun:
    """Return the aligned run of the query that opens a source with this `checkpoint`, which the
    call for its first source makes. `kept` is that of `AlignedRun`.
    """
    run = QueryRun.opening(spark, checkpoint)
    alignment = replace(alignment, event_time=None)  # the sources share one plan, but no event time

    def make() -> SparkAlignedRun:
        warn_of_options(alignment, run.available_now)
        report = RunReport(run, alignment) if alignment.mode == "observe" else None
        member, begin = joined(alignment, run), partial(_begin, spark)
        made = SparkAlignedRun(alignment, run, member, gauges=gauges_of(run), report=report, kept=kept, begin=begin)
        own = SparkSession(spark.sparkContext, session_of(run.execution))
        if alignment.late_rows == "keep":
            made.table = table = KeptRows(own, run, alignment, made.sources)
            if report is not None:
                report.found.late_rows_path = table.path
        if alignment.late_rows == "count" or (alignment.mode == "observe" and alignment.late_rows != "ignore"):
            made.count = LateCount(own, run, made.sources)
        elif report is not None:
            report.found.uncounted = "the count is switched off for this query"
        return made

    aligned = running.of_run(SparkAlignedRun, run.query_id, run.run_id, make)
    if aligned.alignment != alignment:
        aligned.end()
        raise ConfigurationError(_unequal(aligned.alignment, alignment))
    return aligned


def _begin(spark: Any, function: Callable[[], None]) -> Callable[[], object]:
    """Run a function on a new thread, and return what interrupts this thread, as `Begin`."""
    java: list[Any] = []

    def run() -> None:
        with suppress(Exception):  # without a JVM the function fails, too, and says so
            java.append(spark._jvm.Thread.currentThread())
            send_at_once(spark.sparkContext._gateway)
        function()

    def interrupt() -> None:
        with suppress(Exception):
            java[0].interrupt()

    threading.Thread(target=run, name="lockgate-look-ahead", daemon=True).start()
    return interrupt


def _unequal(one: Alignment, other: Alignment) -> str:
    differ = [each.name for each in fields(Alignment) if getattr(one, each.name) != getattr(other, each.name)]
    values = " and ".join(
        f"Alignment({', '.join(f'{name}={getattr(each, name)!r}' for name in differ)})" for each in (one, other)
    )
    return f"streams of one query are aligned with {values}: give all of them the same, or hand them to align_all"
