"""Small batches are put off as `minOffsetsPerTrigger` and `maxTriggerDelay` say: by the rule, and
on a real broker.
"""

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockgate.plan.model import Limit, Plan, PlannedState, SplitPlan
from lockgate_spark import align
from lockgate_spark.logs.unread import Least
from lockgate_spark.planning.steps import put_off
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from support.queries import WindowedCount, kafka_stream


def plan(*sizes: int, limit: Limit = Limit.END) -> Plan[tuple[int, str]]:
    splits = {(i, "t-0"): SplitPlan(0, size, PlannedState.ACTIVE, 0, None) for i, size in enumerate(sizes)}
    return Plan(target=0, ceiling=0, limit=limit, splits=splits, look_ups=0)


LEAST: dict[int, Least | None] = {0: Least(10, 60_000)}  # ten offsets are worth a batch, or 60 s


def is_put_off(made: Plan[tuple[int, str]], since_s: float | None, least: dict[int, Least | None] = LEAST) -> bool:
    """Whether a plan is put off so long after the last batch."""
    since_ms = None if since_s is None else since_s * 1000
    return put_off(made, least, since_ms).offsets == 0


def test_the_first_batch_waits_for_nothing() -> None:
    assert not is_put_off(plan(1), None)


def test_small_batch_waits_until_it_has_grown_or_the_delay_is_over() -> None:
    assert is_put_off(plan(9), 1.0)
    assert not is_put_off(plan(10), 2.0)
    assert is_put_off(plan(9), 59.0)
    assert not is_put_off(plan(9), 60.0)


def test_as_soon_as_one_source_has_enough_the_others_come_along() -> None:
    least = {**LEAST, 1: Least(100, 60_000)}
    assert is_put_off(plan(9, 99), 1.0, least)
    assert not is_put_off(plan(3, 100), 1.0, least)


def test_a_source_without_a_minimum_waits_for_nobody() -> None:
    assert not is_put_off(plan(1, 1), 1.0)
    assert is_put_off(plan(1, 0), 2.0), "it has nothing to read"


@pytest.mark.parametrize("limit", [Limit.BUDGET, Limit.GROUP])
def test_where_waiting_brings_no_more_nothing_is_put_off(limit: Limit) -> None:
    assert not is_put_off(plan(1, limit=limit), 1.0)


def sizes(query: WindowedCount) -> list[int]:
    return [size for made in query.plans if (size := sum(split.end - split.position for split in made.partitions))]


def test_kafka_query_waits_for_its_minimum_up_to_its_delay(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    now = int(time.time() * 1000)
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, now, None, b"x")])
    options = {"minOffsetsPerTrigger": 5, "maxOffsetsPerTrigger": 100}
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxTriggerDelay="1h", **options)
    hasty = kafka_stream(spark, kafka.bootstrap, topic, maxTriggerDelay="2s", **options)
    patient = WindowedCount(align(stream)).start(tmp_path / "patient", available_now=False)
    delayed = WindowedCount(align(hasty)).start(tmp_path / "delayed", available_now=False)
    try:
        for query in (patient, delayed):
            query.wait_until(lambda query: query.counted == 1)
        topics.produce(kafka.bootstrap, topic, [(0, now, None, b"x")])
        delayed.wait_until(lambda query: query.counted == 2)
        assert patient.counted == 1
        for _ in range(5):
            topics.produce(kafka.bootstrap, topic, [(0, now, None, b"x")])
        patient.wait_until(lambda query: query.counted >= 6)
        assert sizes(patient)[0] == 1
        assert min(sizes(patient)[1:]) >= 5
    finally:
        patient.stop()
        delayed.stop()


def test_an_available_now_run_reads_what_is_there_however_little(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    options = {"minOffsetsPerTrigger": 40, "maxOffsetsPerTrigger": 50, "maxTriggerDelay": "1h"}
    topics.produce(kafka.bootstrap, topic, [(0, 1_767_225_600_000 + n, None, b"x") for n in range(110)])
    query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic, **options))).start(tmp_path).finish()
    assert query.counted == 110
