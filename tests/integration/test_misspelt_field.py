"""An event time that the records do not have: a misspelt field ends the query, with the fields that
there are.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryException

from lockgate_spark import Alignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import kafka_stream
from support.rows import Rows

T0 = 1_767_225_600_000
PLACED = Alignment(event_time="to_timestamp(get_json_object(CAST(value AS STRING), '$.placed'))")
MISSPELT = Alignment(event_time="to_timestamp(get_json_object(CAST(value AS STRING), '$.palced'))")
ORDER = '{"placed": "2026-01-01 00:00:05", "shop": {"id": 5}}'


def filled(kafka: KafkaBroker, topic: str, *records: tuple[int, str | None]) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(partition, T0, b"k", value) for partition, value in records])


def test_a_misspelt_field_ends_the_query_with_the_fields_that_there_are(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    filled(kafka, topic, (0, ORDER), (0, None), (1, ORDER))
    with pytest.raises(StreamingQueryException) as refused:
        Rows(align(kafka_stream(spark, kafka.bootstrap, topic), MISSPELT)).start(tmp_path).finish()
    said = str(refused.value).splitlines()[0]
    assert "it gives no time for any of the 3 records looked at in" in said
    assert "a value there has the fields placed, shop.id" in said


@pytest.mark.long
def test_records_without_a_value_and_a_partition_without_times_are_read(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    filled(kafka, f"{topic}-deleted", (0, None), (1, None))
    deleted = Rows(align(kafka_stream(spark, kafka.bootstrap, f"{topic}-deleted"), PLACED))
    assert len(deleted.start(tmp_path / "deleted").finish().all) == 2
    filled(kafka, topic, (0, "no order"), (1, ORDER))
    beside = Rows(align(kafka_stream(spark, kafka.bootstrap, topic), PLACED))
    assert len(beside.start(tmp_path / "beside").finish().all) == 2
