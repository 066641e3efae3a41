"""Late rows in a Kafka topic: what the table has, batch by batch, and how often."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import support
from lockgate_spark import late_rows, replay
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from support.drivers import Driver, Order
from support.keeping import BUDGET, KEYS, RECORDS, Kept, Record, collected, lost_of, out_of_order, records
from support.logged import logged

DRIVER = Path(support.__path__[0]) / "keeping_driver.py"
TOO_SMALL = {"kafka__max__request__size": 100}
"""An option for the source with which no late row fits into a request to the topic."""
UNIQUE = ["query", "operator", "topic", "partition", "offset", "batch_id"]


@pytest.fixture(scope="module")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    """The last partition starts 6 h late."""
    spec = SkewedTopic("late-rows-topic", records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.fixture
def late_topic(kafka: KafkaBroker, topic: str) -> str:
    name = f"{topic}-late"
    topics.create(kafka.bootstrap, name, 2)
    return name


@pytest.fixture
def kept(spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path) -> Kept:
    return Kept(spark, kafka, skewed, tmp_path)


def in_kafka(kept: Kept, topic: str) -> DataFrame:
    reader = kept.spark.read.format("kafka").option("kafka.bootstrap.servers", kept.kafka.bootstrap)
    return reader.option("subscribe", topic).load()


def test_topic_has_the_rows_of_the_table_once_and_in_order(kept: Kept, late_topic: str) -> None:
    kept.alignment = replace(kept.alignment, late_rows_topic=late_topic)
    output: set[Record] = set()
    query = kept.run(kept.observed().dropDuplicates(KEYS), collected(output))
    published, table = in_kafka(kept, late_topic), late_rows(query)
    rows = late_rows(published)
    assert records(rows) == Counter(kept.all() - output) == records(table)
    assert sorted(rows.collect()) == sorted(table.collect())
    assert table.dropDuplicates(UNIQUE).count() == table.count() == published.count()
    by_key: dict[str, list[tuple[int, int]]] = {}
    for row in published.orderBy("partition", "offset").collect():
        found = json.loads(row["value"])
        assert found["event_time"].endswith("00Z")
        by_key.setdefault(row["key"].decode(), []).append((found["batch_id"], found["offset"]))
    assert by_key.keys() == {f"{kept.topic.name}-{partition}" for partition, _ in kept.all() - output}
    assert all(each == sorted(each) for each in by_key.values())
    again = replay(rows, {"kafka.bootstrap.servers": kept.kafka.bootstrap})
    assert records(again) == Counter(kept.all() - output)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-such-topic", "Kafka refuses this topic .UnknownTopicOr.*Create it"),
        ("late-rows-topic", "reads this topic itself"),
    ],
)
def test_topic_that_cannot_be_used_is_refused_at_the_start(kept: Kept, name: str, words: str) -> None:
    kept.alignment = replace(kept.alignment, late_rows_topic=name)
    with pytest.raises(
        StreamingQueryException, match=f"ConfigurationError: Alignment.late_rows_topic='{name}'.*{words}"
    ):
        kept.run(kept.observed().dropDuplicates(KEYS))


@pytest.mark.long
def test_batch_that_kafka_has_not_taken_is_published_by_the_next_run(kept: Kept, topic: str, late_topic: str) -> None:
    output: set[Record] = set()
    with pytest.raises(StreamingQueryException, match=f'not in the topic "{late_topic}" .RecordTooLarge'):
        kept.run(out_of_order(kept, topic, late_topic, **TOO_SMALL), collected(output))
    assert in_kafka(kept, late_topic).count() == 0
    query = kept.run(out_of_order(kept, topic, late_topic), collected(output))
    assert records(late_rows(in_kafka(kept, late_topic))) == records(late_rows(query)) == lost_of(output)


@pytest.mark.long
def test_observed_query_goes_on_and_its_next_run_publishes(kept: Kept, late_topic: str) -> None:
    output: set[Record] = set()
    kept.alignment = replace(kept.alignment, late_rows_topic=late_topic)
    with logged() as lines:
        kept.run(kept.observed(**TOO_SMALL).dropDuplicates(KEYS), collected(output))
    assert any("RecordTooLarge" in line for line in lines)
    assert in_kafka(kept, late_topic).count() == 0
    query = kept.run(kept.observed().dropDuplicates(KEYS), collected(output))
    assert records(late_rows(in_kafka(kept, late_topic))) == records(late_rows(query)) == Counter(kept.all() - output)


@pytest.mark.long
def test_killed_application_keeps_each_late_row_once_and_publishes_all(kept: Kept, late_topic: str) -> None:
    order = Order("keeping", kept.kafka.bootstrap, kept.topic.name, BUDGET, str(kept.folder), fails_at=(2, 3, 3))
    environment = {"LATE_TOPIC": late_topic}
    for _ in order.fails_at:
        driver = Driver(order, DRIVER, environment)
        driver.fail()
        driver.kill()
    Driver(order, DRIVER, environment).finish().kill()
    files: Iterable[Path] = Path(order.out).glob("*.json")
    output = {tuple(record) for file in files for record in json.loads(file.read_text())}
    assert records(kept.table) == Counter(kept.all() - output)
    batches = Counter(row["batch_id"] for row in kept.table.select("batch_id").collect())
    assert set(order.fails_at) <= batches.keys()
    published = in_kafka(kept, late_topic)
    assert records(late_rows(published)) == records(kept.table)
    # the batch that was published when the application died is there twice, and no other
    assert published.count() == kept.table.count() + batches[order.fails_at[-1]]
