"""Two brokers, one of which is killed while it leads partitions, comes back, and leads them again:
exact rows all the while.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, align
from lockgate_testbed.kafka import KafkaBroker
from support.queries import WindowedCount, kafka_stream, stop_all
from support.two_brokers import LAGS_MS, TwoBrokers

PAYLOAD = "CAST(CAST(value AS STRING) AS BIGINT)"


@pytest.fixture
def two_brokers(topic: str, kafka: KafkaBroker) -> Iterator[TwoBrokers]:
    # `kafka` says whether there can be a broker at all.
    with KafkaBroker() as first, KafkaBroker(joins=first) as second:
        yield TwoBrokers(first, second, topic)


@pytest.mark.long
def test_rows_stay_exact_while_leaders_change_and_a_broker_is_killed_and_comes_back(
    spark: SparkSession, two_brokers: TwoBrokers, tmp_path: Path
) -> None:
    stream = kafka_stream(spark, two_brokers.bootstrap, two_brokers.topic)
    options = {
        "max_drift": "30 seconds",
        "idle_timeout": "20 minutes",
    }  # as long as a machine may need for a broker to come back
    by_record = align(stream, Alignment(**options))
    by_payload = align(stream, Alignment(**options, event_time=PAYLOAD)).selectExpr(
        f"timestamp_millis({PAYLOAD}) AS timestamp"
    )
    queries = [WindowedCount(df, delay="30 seconds", window="10 seconds") for df in (by_record, by_payload)]
    try:
        with two_brokers.fed() as written:
            for name, query in zip(("record", "payload"), queries, strict=True):
                query.start(tmp_path / name, available_now=False)
            go_on(queries, written)
            two_brokers.second.kill()
            two_brokers.await_leaders([1, 1, 1, 1])
            go_on(queries, written)
            two_brokers.second.start()
            two_brokers.lead_as_before()
            go_on(queries, written)
        assert min(written.count(partition) for partition in range(len(LAGS_MS))) > 50
        for query in queries:
            query.wait_until(lambda query: query.counted >= len(written))
            query.wait_until_idle()
            assert query.counted == len(written)
            assert query.query is not None
            assert (
                sum(
                    op["numRowsDroppedByWatermark"]
                    for each in query.query.recentProgress
                    for op in each["stateOperators"]
                )
                == 0
            )
    finally:
        stop_all(queries)


def go_on(queries: list[WindowedCount], written: list[int]) -> None:
    """Until the queries have all that is there now, and a hundred records more."""
    enough = len(written) + 100
    for query in queries:
        query.wait_until(lambda query: query.counted >= enough)
