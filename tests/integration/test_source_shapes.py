"""Every way to name the topics of a Kafka source, and every shape in which its stream is handed
over, on a real broker.
"""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.streaming import StreamingQueryException

from lockgate_spark import Alignment, UnsupportedQuery, align, align_all
from lockgate_testbed import topics
from lockgate_testbed.kafka import PASSWORD, PLAIN, USER, KafkaBroker
from support.answers import wait_for
from support.rows import Row, Rows

T0 = 1_767_225_600_000
SECOND = 1_000
TOPICS = ("shapes-a", "shapes-b")
LOGS = {
    ("shapes-a", 0): range(100),
    ("shapes-a", 1): range(50, 100, 5),
    ("shapes-b", 0): range(20, 80, 3),
    ("shapes-b", 1): range(90, 95),
}
"""Event times by topic and partition, in s after T0."""
EVERYTHING = {
    Row(topic, partition, offset) for (topic, partition), times in LOGS.items() for offset in range(len(times))
}


@pytest.fixture(scope="module")
def logs(kafka: KafkaBroker) -> KafkaBroker:
    """The broker, with `LOGS` in it."""
    for name in TOPICS:
        topics.create(kafka.bootstrap, name, 2)
        logs = ((partition, times) for (topic, partition), times in LOGS.items() if topic == name)
        topics.produce(
            kafka.bootstrap, name, [(p, T0 + t * SECOND, b"k%d" % (t % 3), b"x") for p, times in logs for t in times]
        )
    return kafka


def stream(spark: SparkSession, kafka: KafkaBroker, **options: object) -> DataFrame:
    """A Kafka source by its options alone, dots written as two underscores; by default from the
    earliest offset.
    """
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka.bootstrap)
        .option("startingOffsets", "earliest")
    )
    for name, value in {"maxOffsetsPerTrigger": 30, **options}.items():
        reader = reader.option(name.replace("__", "."), value if isinstance(value, str) else json.dumps(value))
    return reader.load()


def event_time(row: Row) -> int:
    return T0 + LOGS[row.topic, row.partition][row.offset] * SECOND


def assert_level(rows: Rows) -> None:
    """No batch holds a record that is older than what the batches before have read."""
    assert len([batch for batch in rows.batches if batch]) > 1
    for plan, batch, later in zip(rows.plans, rows.batches, rows.batches[1:], strict=False):
        assert plan is not None
        assert all(event_time(row) <= plan.target for row in batch)
        assert all(event_time(row) > plan.target for row in later)


# -- what is read --


@pytest.mark.parametrize(
    ("option", "partitions"),
    [
        ({"subscribe": ",".join(TOPICS)}, set(LOGS)),
        pytest.param({"subscribePattern": "shapes-[ab]"}, set(LOGS), marks=pytest.mark.long),
        pytest.param(
            {"assign": {"shapes-a": [0], "shapes-b": [0, 1]}}, set(LOGS) - {("shapes-a", 1)}, marks=pytest.mark.long
        ),
    ],
    ids=["subscribe", "subscribePattern", "assign"],
)
def test_several_topics_of_one_source_stand_level(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path, option: dict[str, object], partitions: set[tuple[str, int]]
) -> None:
    rows = Rows(align(stream(spark, logs, **option))).start(tmp_path).finish()
    assert rows.all == list(dict.fromkeys(rows.all)), "each once"
    assert set(rows.all) == {row for row in EVERYTHING if (row.topic, row.partition) in partitions}
    assert_level(rows)


SOME_OFFSETS = {"shapes-a": {"0": 90, "1": -1}, "shapes-b": {"0": -2, "1": 3}}
SOME_TIMES = {"shapes-a": {"0": T0 + 70 * SECOND, "1": T0}, "shapes-b": {"0": T0 + 79 * SECOND, "1": T0 + 92 * SECOND}}


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({"startingOffsets": SOME_OFFSETS}, (90, 10, 0, 3)),
        pytest.param({"startingTimestamp": T0 + 60 * SECOND}, (60, 2, 14, 0), marks=pytest.mark.long),
        ({"startingOffsetsByTimestamp": SOME_TIMES, "startingOffsetsByTimestampStrategy": "latest"}, (70, 0, 20, 2)),
    ],
    ids=["startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"],
)
def test_a_source_starts_where_spark_lets_it_start(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path, options: dict[str, object], first: tuple[int, ...]
) -> None:
    started = dict(zip(LOGS, first, strict=True))
    rows = (
        Rows(align(stream(spark, logs, subscribe=",".join(TOPICS), maxOffsetsPerTrigger=20, **options)))
        .start(tmp_path)
        .finish()
    )
    assert len(rows.all) == len(set(rows.all))
    assert set(rows.all) == {row for row in EVERYTHING if row.offset >= started[row.topic, row.partition]}
    assert_level(rows)


@pytest.mark.long
def test_from_the_latest_offset_only_what_comes_later_is_read(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(n % 2, T0, None, b"x") for n in range(6)])
    rows = Rows(align(stream(spark, kafka, subscribe=topic, startingOffsets="latest"))).start(
        tmp_path, available_now=False
    )
    try:
        wait_for((tmp_path / "sources" / "0" / "0").exists)  # there Spark writes where it starts
        topics.produce(kafka.bootstrap, topic, [(0, T0, None, b"x"), (1, T0 + 1, None, b"x")])
        rows.wait_until(lambda rows: len(rows.all) == 2)
    finally:
        rows.stop()
    assert set(rows.all) == {Row(topic, 0, 3), Row(topic, 1, 3)}


@pytest.mark.long
def test_ending_offsets_are_refused_as_spark_refuses_them(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    with pytest.raises(Exception, match=r"(?i)ending offset not valid in streaming queries"):
        Rows(align(stream(spark, logs, subscribe="shapes-a", endingOffsets="latest"))).start(tmp_path).finish()


# -- the shape in which it is handed over --


def joined_with_a_table(spark: SparkSession, aligned: DataFrame) -> DataFrame:
    table = spark.createDataFrame([(b"k0", 0), (b"k1", 1), (b"k2", 2)], "key binary, n int")
    return (
        aligned.withWatermark("timestamp", "1 minute")
        .where("offset >= 0")
        .join(table, "key")
        .select("topic", "partition", "offset", "n")
    )


def of_a_view(spark: SparkSession, source: DataFrame) -> DataFrame:
    source.createOrReplaceTempView("shapes")
    return spark.sql(
        "WITH early AS (SELECT * FROM shapes) SELECT e.topic, partition, offset FROM early e WHERE offset >= 0"
    )


@pytest.mark.parametrize("shape", [joined_with_a_table, pytest.param(of_a_view, marks=pytest.mark.long)])
def test_the_source_is_found_behind(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path, shape: Callable[[SparkSession, DataFrame], DataFrame]
) -> None:
    rows = Rows(align(shape(spark, stream(spark, logs, subscribe="shapes-a")))).start(tmp_path).finish()
    assert sorted(rows.all) == sorted(row for row in EVERYTHING if row.topic == "shapes-a")
    assert_level(rows)


@pytest.mark.long
def test_an_aligned_stream_is_transformed_like_any_other(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    shapes = of_a_view(spark, joined_with_a_table(spark, align(stream(spark, logs, subscribe="shapes-a"))))
    rows = Rows(shapes).start(tmp_path).finish()
    assert len(rows.all) == 110
    assert_level(rows)


@pytest.mark.long
def test_the_two_sides_of_a_self_join_are_planned_together(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    source = align(stream(spark, logs, subscribe="shapes-a"))
    mine, other = (source.withWatermark("timestamp", "1 minute").alias(name) for name in ("mine", "other"))
    same = "mine.partition = other.partition AND mine.offset = other.offset AND mine.timestamp = other.timestamp"
    rows = (
        Rows(mine.join(other, expr(same)).select("mine.topic", "mine.partition", "mine.offset"))
        .start(tmp_path)
        .finish()
    )
    assert sorted(rows.all) == sorted(row for row in EVERYTHING if row.topic == "shapes-a"), "every record finds itself"
    for plan in rows.plans:
        assert plan is not None
        sides = [[split.end for split in plan.partitions if split.source == side] for side in (0, 1)]
        assert sides[0] == sides[1]


def test_a_stream_is_aligned_once(spark: SparkSession, logs: KafkaBroker) -> None:
    one, other = (stream(spark, logs, subscribe=name) for name in TOPICS)
    with pytest.raises(UnsupportedQuery, match="aligned already: align every stream once"):
        align(align(one).union(other))


def test_an_operation_that_spark_itself_refuses_stays_spark_s_error(spark: SparkSession, logs: KafkaBroker) -> None:
    source = stream(spark, logs, subscribe="shapes-a")
    for shape in (source.cache, source.localCheckpoint):
        with pytest.raises(AnalysisException, match=r"must be executed with writeStream\.start"):
            align(shape())


def test_a_dataframe_made_of_a_batch_inside_foreach_batch_has_no_source(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    refused: list[str] = []

    def work(batch: DataFrame, _: int) -> None:
        for made in (batch, batch.persist(), batch.localCheckpoint()):
            with pytest.raises(UnsupportedQuery) as error:
                align(made)
            refused.append(str(error.value))

    Rows(stream(spark, logs, subscribe="shapes-a", maxOffsetsPerTrigger=1_000), work).start(tmp_path).finish()
    assert len(refused) == 3


# -- a batch that is replayed --


def test_a_batch_that_failed_is_replayed_as_it_was_planned_though_more_has_come(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    names = [f"{topic}-{side}" for side in "ab"]
    for name in names:
        topics.create(kafka.bootstrap, name, 2)
        topics.produce(kafka.bootstrap, name, [(n % 2, T0 + n, None, b"x") for n in range(40)])
    a, b = align_all([stream(spark, kafka, subscribe=name, maxOffsetsPerTrigger=20) for name in names])

    def fail(_: DataFrame, batch_id: int) -> None:
        if batch_id == 1:
            for name in names:
                topics.produce(kafka.bootstrap, name, [(n % 2, T0 + n, None, b"x") for n in range(0, 40, 3)])
            raise RuntimeError("the sink is full")

    failed = Rows(a.union(b), fail).start(tmp_path)
    with pytest.raises(StreamingQueryException, match="the sink is full"):
        failed.finish()
    again = Rows(a.union(b)).start(tmp_path).finish()
    assert again.batches[0] == failed.batches[1] != []
    assert again.plans[0] is None, "no plan of this run"
    every = failed.batches[0] + again.all
    assert (len(every), len(set(every))) == (2 * (40 + 14), 2 * (40 + 14))


# -- a split that lags alone --


def test_a_split_that_lags_alone_is_split_up_by_min_partitions(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    tasks: list[int] = []
    source = stream(spark, logs, subscribe="shapes-a", minPartitions=4)
    rows = Rows(align(source), lambda batch, _: tasks.append(batch.rdd.getNumPartitions())).start(tmp_path).finish()
    assert {row.partition for row in rows.batches[0]} == {0}, "partition 1 begins 50 s later"
    assert tasks[0] == 4
    assert len(rows.all) == len(set(rows.all)) == 110


# -- Kafka's own options --


def sasl(user: str, password: str) -> dict[str, str]:
    return {
        "kafka__security__protocol": "SASL_PLAINTEXT",
        "kafka__sasl__mechanism": "PLAIN",
        "kafka__sasl__jaas__config": f'{PLAIN} required username="{user}" password="{password}";',
    }


@pytest.mark.long
def test_security_options_are_spark_s_and_ours_alike(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secured = {"kafka__bootstrap__servers": logs.bootstrap_sasl, "subscribe": "shapes-a", **sasl(USER, PASSWORD)}
    with caplog.at_level(logging.DEBUG, "lockgate"):
        rows = Rows(align(stream(spark, logs, **secured))).start(tmp_path).finish()
    assert len(rows.all) == 110
    assert_level(rows)
    assert PASSWORD not in caplog.text


@pytest.mark.long
def test_a_wrong_password_is_kafka_s_error_without_the_password(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    wrong = {"kafka__bootstrap__servers": logs.bootstrap_sasl, "subscribe": "shapes-a", **sasl(USER, "hunter2")}
    with pytest.raises(StreamingQueryException, match=r"(?i)authentication") as error:
        Rows(align(stream(spark, logs, **wrong))).start(tmp_path).finish()
    assert "hunter2" not in str(error.value)


@pytest.mark.long
def test_the_fetch_of_single_records_leaves_the_source_s_own_limits_alone(
    spark: SparkSession, logs: KafkaBroker, tmp_path: Path
) -> None:
    """A consumer that takes one record a poll is legal for Spark, and slow; ours takes as many as
    it needs.
    """
    tuned = {"kafka__max__poll__records": "1", "kafka__fetch__max__bytes": "1024", "kafka__client__id": "mine"}
    rows = (
        Rows(
            align(
                stream(spark, logs, subscribe="shapes-b", maxOffsetsPerTrigger=10, **tuned),
                Alignment(max_drift="1 second"),
            )
        )
        .start(tmp_path)
        .finish()
    )
    assert len(rows.all) == 25
    assert_level(rows)
