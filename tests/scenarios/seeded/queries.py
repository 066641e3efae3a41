"""A scenario's query in Spark: its sources, aligned or not, and its operator. `truth` knows each
row of the result.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from lockgate_spark import Alignment, align_all
from seeded.scenario import Operator, Query, Source

ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
OFFSET_LOG = "spark.sql.streaming.offsetLog.formatVersion"
_TEXT = "split(CAST(value AS STRING), ',')[2]"
EVENT_TIMES = {  # as users write them
    "cast": f"CAST({_TEXT} AS BIGINT)",
    "try_cast": f"TRY_CAST({_TEXT} AS BIGINT)",
    "timestamp": f"timestamp_millis(TRY_CAST({_TEXT} AS BIGINT))",
}
# of the query itself, which reads any payload
_MS = f"TRY_CAST({_TEXT} AS BIGINT)"
OWN_TIME = f"timestamp_millis(CASE WHEN {_MS} BETWEEN -1e15 AND 1e15 THEN {_MS} END)"


def result(
    spark: SparkSession,
    query: Query,
    brokers: Callable[[int], str],
    prefix: str,
    alignment: Mapping[str, Any] | None,
) -> tuple[DataFrame, str]:
    """The streaming result, and its output mode. `brokers`: the address of each cluster.
    `alignment`: the arguments of `Alignment`; None natively.
    """
    streams = [_stream(spark, source, brokers(source.cluster), prefix) for source in query.sources]
    if alignment is not None:
        expression = {"event_time": EVENT_TIMES[query.event_time]} if query.in_payload else {}
        streams = align_all(streams, Alignment(**alignment, **expression))
    rows = [_fields(stream, query, source, prefix) for stream, source in zip(streams, query.sources, strict=True)]
    mode = "update" if query.operator is Operator.COUNT else "append"
    return _operate(rows, query), mode


def session(spark: SparkSession, query: Query, conf: Mapping[str, str]) -> SparkSession:
    """One for the query alone, with this conf; `transformWithState` asks for a store of its own."""
    own = spark.newSession()
    store = {"spark.sql.streaming.stateStore.providerClass": ROCKS_DB} if query.operator is Operator.PROCESSOR else {}
    for key, value in {**conf, **store, OFFSET_LOG: str(query.log_format)}.items():
        own.conf.set(key, value)
    return own


def _first_of_each() -> StatefulProcessor:
    """Gives each `n` once. Made here, for a class of a function goes to Spark's workers by value:
    they need not have this module.
    """

    class FirstOfEach(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._seen = handle.getMapState("seen", "n INT", "at TIMESTAMP")

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803 – Spark's names
            for row in rows:
                if not self._seen.containsKey((row.n,)):
                    self._seen.updateValue((row.n,), (row.at,))
                    yield Row(n=row.n)

        def close(self) -> None: ...

    return FirstOfEach()


def _stream(spark: SparkSession, source: Source, bootstrap: str, prefix: str) -> DataFrame:
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    if source.pattern is not None:
        reader = reader.option("subscribePattern", f"{prefix}-{source.pattern}")
    else:
        names = [topic.partition("@")[0] for topic in source.topics]
        reader = reader.option("subscribe", ",".join(f"{prefix}-{name}" for name in names))
    options: Mapping[str, Any] = {"startingOffsets": "earliest", **source.options}
    for name, value in options.items():
        if isinstance(value, Mapping):  # by topic
            value = json.dumps({f"{prefix}-{topic}": of for topic, of in value.items()})
        if value is not None:
            reader = reader.option(name, value)
    return reader.load()


def _fields(stream: DataFrame, query: Query, source: Source, prefix: str) -> DataFrame:
    at = OWN_TIME if query.in_payload else "timestamp"
    value = "split(CAST(value AS STRING), ',')"
    cluster = f"@{source.cluster}" if source.cluster else ""
    found = stream.selectExpr(
        f"concat(substring(topic, {len(prefix) + 2}), '{cluster}') AS topic",
        "partition",
        f"CAST({value}[0] AS INT) AS n",
        f"CAST({value}[1] AS INT) AS k",
        f"{at} AS at",
    )
    if query.in_payload and query.operator is not Operator.COUNT:  # which leaves out rows without a time itself
        found = found.where("at IS NOT NULL")
    return found if query.slice_ms is not None else found.withWatermark("at", f"{query.delay_ms} milliseconds")


def _operate(streams: list[DataFrame], query: Query) -> DataFrame:
    size = f"{query.size_ms} milliseconds"
    if query.operator in (Operator.INNER, Operator.OUTER):
        left = streams[0].selectExpr("n AS left", "at AS since")
        right = streams[1].selectExpr("n AS right", "k AS partner", "at AS until")
        how = "inner" if query.operator is Operator.INNER else "leftOuter"
        within = F.expr(f"left = partner AND until >= since AND until <= since + INTERVAL {query.size_ms} MILLISECONDS")
        return left.join(right, within, how).select("left", "right")
    rows = streams[0]
    for other in streams[1:]:
        rows = rows.unionByName(other)
    if query.operator is Operator.COUNT:
        counts = rows.groupBy("topic", "partition", F.window("at", size)).count()
        return counts.selectExpr("topic", "partition", "unix_millis(window.start) AS start", "count")
    if query.operator is Operator.SESSION:
        sessions = rows.groupBy("topic", "partition", F.session_window("at", size)).count()
        return sessions.selectExpr(
            "topic", "partition", "unix_millis(session_window.start)", "unix_millis(session_window.end)", "count"
        )
    if query.operator is Operator.PROCESSOR:
        by_split = rows.groupBy("topic", "partition")
        return by_split.transformWithState(
            _first_of_each(), outputStructType="n INT", outputMode="append", timeMode="eventTime"
        )
    if query.operator is Operator.DEDUP:
        return rows.dropDuplicatesWithinWatermark(["n"]).select("n")
    return rows.select("n", "at")
