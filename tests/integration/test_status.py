"""`status` of real queries: what they do, and what they wait for."""

from pathlib import Path

import httpx
import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, Coordinator, QueryState, UnsupportedQuery, align, status
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import T0_MS, SkewedTopic
from support.answers import wait_for
from support.members import create
from support.queries import WindowedCount, kafka_stream

MINUTE = 60_000


@pytest.fixture(scope="module")
def skewed(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("status", weights=(1, 2), records=4_000)
    topics.load(kafka.bootstrap, spec)
    return spec


def test_a_query_that_waits_for_its_group_says_for_whom_and_since_when(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CoordinatorProcess() as coordinator:
        place = Coordinator(coordinator.url, group="g", source="orders")
        create(coordinator.url, "g", max_drift_ms=10 * MINUTE)
        slow = f"{coordinator.url}/v1/groups/g/sources/slow"
        epoch = httpx.post(f"{slow}/readers", json={"subtask": 0, "owner": "a test"}).json()["epoch"]
        httpx.post(f"{slow}/watermarks", json={"subtask": 0, "epoch": epoch, "watermark": T0_MS + 30 * MINUTE})
        stream = kafka_stream(spark, kafka.bootstrap, skewed.name, maxOffsetsPerTrigger=500)
        query = WindowedCount(align(stream, Alignment(max_drift="10 minutes", coordinator=place)))
        query.start(tmp_path, name="orders", available_now=False)
        try:
            assert query.query is not None
            wait_for(lambda: status(query.query).waits_for == "slow/0")
            found = status(query.query)
            assert found.state is QueryState.WAITING
            assert found.waits_since is not None
            assert "The query waits for its group" in str(found)
            assert "paused" in found._repr_html_()
            assert found.max_drift == 10 * MINUTE
            wait_for(lambda: "orders waits for its group g: blocked by slow/0" in caplog.text)
        finally:
            query.stop()
        assert status(query.query).state is QueryState.ENDED
    assert caplog.text.count("orders waits for its group") == 1
    assert caplog.text.count("orders waited") == 1


@pytest.mark.long
def test_a_query_that_has_read_all_an_observed_one_and_one_that_is_not_aligned_say_so(
    spark: SparkSession, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    stream = kafka_stream(spark, kafka.bootstrap, skewed.name)
    shapes = {
        QueryState.CAUGHT_UP: align(stream),
        QueryState.OBSERVING: align(stream, Alignment(mode="observe")),
        QueryState.NOT_ALIGNED: stream,
    }
    for state, df in shapes.items():
        query = WindowedCount(df).start(tmp_path / state.name, available_now=False)
        try:
            query.wait_until(lambda one: one.counted == 4_000)
            wait_for(lambda query=query, state=state: status(query.query).state is state)
        finally:
            query.stop()


def test_what_is_no_query_is_refused_by_name(spark: SparkSession) -> None:
    with pytest.raises(UnsupportedQuery, match=r"expected the StreamingQuery .* not DataFrame"):
        status(spark.range(1))
