"""What may be event time: an expression that tells it from the record alone; anything else is
refused before the query runs.
"""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampType

from lockgate_spark import Alignment, ConfigurationError, align
from lockgate_spark.jvm.event_time import EventTime


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:1").option("subscribe", "none")
    )
    return reader.option("includeHeaders", True).load()


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("nothing", "UNRESOLVED_COLUMN"),
        ("from_json(value", "PARSE_SYNTAX_ERROR"),
        ("timestamp, key", "PARSE_SYNTAX_ERROR"),
        ("*", "expected one expression"),
        ("max(timestamp)", "without aggregates"),
        ("max(timestamp) OVER (PARTITION BY key)", "without aggregates, windows"),
        ("explode(array(timestamp))", "generators"),
        ("(SELECT timestamp_millis(max(id)) FROM range(3))", "subquery"),
        ("timestamp + rand() * INTERVAL 1 SECOND", "deterministic"),
        ("least(timestamp, current_timestamp())", "deterministic"),
        ("in_python(value)", "Python function"),
        ("TIMESTAMP '2026-01-01'", "none of the source's columns"),
        ("CAST(value AS STRING)", "of type string.*to_timestamp"),
        ("CAST(timestamp AS TIMESTAMP_NTZ)", "time zone"),
        ("partition", "BIGINT"),
        ("CAST(timestamp AS DATE)", "too coarse"),
    ],
)
def test_what_is_not_fit_to_be_event_time_is_refused_with_the_reason(
    spark: SparkSession, stream: DataFrame, expression: str, reason: str
) -> None:
    spark.udf.register("in_python", lambda value: None, TimestampType())
    with pytest.raises(ConfigurationError, match=f"(?s)event_time=.*{reason}"):
        align(stream, Alignment(event_time=expression))


@pytest.mark.parametrize(
    ("expression", "micros"),
    [
        ("from_json(CAST(value AS STRING), 'ts TIMESTAMP').ts", True),
        ("CAST(CAST(key AS STRING) AS BIGINT)", False),
        ("CAST(CAST(headers[0].value AS STRING) AS TIMESTAMP)", True),
        ("CASE topic WHEN 'a' THEN timestamp ELSE to_timestamp(CAST(value AS STRING)) END", True),
        ("timestamp - INTERVAL 1 HOUR", True),
    ],
)
def test_timestamps_and_milliseconds_of_any_column_are_fit(
    spark: SparkSession, stream: DataFrame, expression: str, micros: bool
) -> None:
    made = EventTime.over(spark, stream._jdf.queryExecution().analyzed().table(), expression)
    assert made is not None
    assert made.micros is micros
    assert align(stream, Alignment(event_time=expression)).isStreaming


def test_kafka_s_own_timestamp_as_an_expression_is_looked_up_as_ever(spark: SparkSession, stream: DataFrame) -> None:
    assert EventTime.over(spark, stream._jdf.queryExecution().analyzed().table(), "Timestamp") is None


def test_an_expression_is_text() -> None:
    with pytest.raises(ConfigurationError, match="expected a Spark SQL expression"):
        Alignment(event_time=7)  # type: ignore[arg-type]
