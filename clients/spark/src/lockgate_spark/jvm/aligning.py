"""`align` for a classic session, which does not use Spark Connect. Each Kafka source in a
DataFrame's plan is replaced by a proxy.
"""

from collections.abc import Sequence
from typing import Any

from py4j.clientserver import ClientServer
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

from lockgate_spark.conf import configured, refuse_options
from lockgate_spark.config import Alignment
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.jvm.opening import PlannedSource, check_before, check_session
from lockgate_spark.jvm.relation import with_tables
from lockgate_spark.jvm.stream import Table
from lockgate_spark.spark_lines import settings_of


def align_all(dfs: Sequence[DataFrame], alignment: Alignment) -> list[DataFrame]:
    """Return aligned copies of the streaming DataFrames `dfs` of a classic session. This function
    implements the public `align_all`, and raises the same errors.
    """
    for df in dfs:
        _check(df)
    spark = dfs[0].sparkSession
    gateway: Any = spark.sparkContext._gateway
    settled = configured(alignment, settings_of(spark))
    check_before(spark, settled)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]

    def aligned(table: Any, options: Any) -> Any:
        refuse_options(dict(options))
        planned = PlannedSource.of(spark, table, settled)
        return Table(table, gateway, planned.open, planned.event_time).java_proxy

    return [with_tables(df, gateway, aligned) for df in dfs]


def _check(df: DataFrame) -> None:
    if not df.isStreaming:
        raise UnsupportedQuery(
            "expected a streaming DataFrame (spark.readStream…load()); this one is a batch DataFrame"
        )
    check_session(df.sparkSession)
    if not isinstance(df.sparkSession.sparkContext._gateway, ClientServer):
        raise UnsupportedQuery(
            "PYSPARK_PIN_THREAD=false: Spark's Kafka source answers only on Spark's own thread, and Python "
            "reaches that only with pinned threads. Leave the variable out, for true is the default, or leave "
            "align() out"
        )
