"""The public functions `late_rows` and `replay`."""

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession, Window

from lockgate_spark import connect
from lockgate_spark.errors import UnsupportedQuery
from lockgate_spark.offset_ranges import FAR, Range, records, rounds
from lockgate_spark.running import running
from lockgate_spark.spark_lines import is_connect

COLUMNS = (
    "query STRING, operator STRING, topic STRING, partition INT, offset BIGINT, event_time TIMESTAMP, "
    "watermark TIMESTAMP, batch_id BIGINT"
)


def late_rows(query: Any) -> DataFrame:
    """Return the rows that Spark has dropped as late, as `Alignment(late_rows="keep")` wrote them.

    Each row has the `topic`, `partition`, `offset` and `event_time` of the dropped record, the
    `operator` that dropped it, the `batch_id` and the `watermark` of its batch, and the id of the
    `query`.

    Examples:
        >>> lockgate_spark.late_rows(query).groupBy("topic", "partition").count().show()

    Args:
        query: The `StreamingQuery`, the path of the table, or a DataFrame that reads the topic
            `late_rows_topic` from Kafka. A row that is in the topic twice is returned once, unless
            the DataFrame is a streaming one.

    Raises:
        UnsupportedQuery: `query` is of another type, keeps no late rows, or ended so long ago that
            its table is no longer known. In the last case, give the path of the table.

    """
    if isinstance(query, str):
        return _table(SparkSession.active(), query)
    if isinstance(query, DataFrame):
        rows = query.select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("row")).select("row.*")
        return rows if rows.isStreaming else rows.distinct()
    if not all(hasattr(query, name) for name in ("id", "isActive")):
        kind = type(query).__name__
        raise UnsupportedQuery(f"late_rows(): expected a StreamingQuery, a path or a DataFrame, not {kind}")
    query_id, of_client = str(query.id), is_connect(query)
    spark = query._session if of_client else SparkSession.active()
    path = connect.ask(spark.range(1), "late_rows", query_id=query_id) if of_client else path_of(query_id)
    if path is None:
        raise UnsupportedQuery(
            "late_rows(query): no run that keeps late rows is known here. Give the path, by default "
            "<checkpoint>/lockgate/late_rows"
        )
    return _table(spark, path).where(F.col("query") == query_id)


def path_of(query_id: str) -> str | None:
    """Return the path of the table in which the last known run of a query keeps its late rows."""
    from lockgate_spark.jvm.opening import SparkAlignedRun

    run = running.of_query(SparkAlignedRun, query_id) or running.of_query(SparkAlignedRun, query_id, ended=True)
    return None if run is None or run.table is None else run.table.path


def _table(spark: SparkSession, path: str) -> DataFrame:
    table = spark.read.schema(COLUMNS).option("basePath", path).parquet(path)
    return table.select(*(column.split()[0] for column in COLUMNS.split(", ")))


def replay(late: DataFrame, options: Mapping[str, str]) -> DataFrame:
    """Return the Kafka records of late rows, each once, as a batch DataFrame with Kafka's columns.

    Only the ranges of offsets around late rows are read, not whole partitions.

    Examples:
        >>> late = lockgate_spark.late_rows(query)
        >>> records = lockgate_spark.replay(late, {"kafka.bootstrap.servers": "localhost:9092"})

    Args:
        late: What `late_rows` returns, or a part of it.
        options: The options with which Spark connects to Kafka and reads, as in the query. Topics
            and offsets come from `late`.

    """
    wanted = late.select("topic", "partition", "offset").distinct()
    ordered = Window.partitionBy("topic", "partition").orderBy("offset")
    far = F.col("offset") - F.lag("offset").over(ordered) > FAR
    runs = wanted.withColumn("run", F.sum(F.when(far, 1).otherwise(0)).over(ordered))
    found = runs.groupBy("topic", "partition", "run").agg(F.min("offset"), F.max("offset") + 1).drop("run").collect()
    reads = (records(late.sparkSession, options, each) for each in rounds(Range(*row) for row in found))
    every = reduce(DataFrame.unionAll, reads)
    return every.join(wanted, ["topic", "partition", "offset"], "left_semi").select(every.columns)
