"""An aligned query that has read everything: its requests to the broker, how soon it sees a record,
how soon it stops.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from benchmarks.more.idle import Meter
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.queries import WindowedCount, kafka_stream

NOW_MS = int(time.time() * 1000)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The requests of this process to coordinators."""
    found: list[str] = []
    send = httpx.AsyncHTTPTransport.handle_async_request

    async def noted(transport: httpx.AsyncHTTPTransport, request: httpx.Request) -> httpx.Response:
        found.append(request.url.path)
        return await send(transport, request)

    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", noted)
    return found


@pytest.fixture
def alignment(topic: str, asked: list[str]) -> Iterator[Alignment]:
    """In a group, which costs requests as well."""
    with CoordinatorProcess() as coordinator:
        yield Alignment(coordinator=Coordinator(coordinator.url, group=topic))


@pytest.fixture
def idle(
    spark: SparkSession, kafka: KafkaBroker, tmp_path: Path, topic: str, alignment: Alignment
) -> Iterator[WindowedCount]:
    """A query that has read ten records in four partitions."""
    topics.create(kafka.bootstrap, topic, 4)
    topics.produce(kafka.bootstrap, topic, [(n % 4, NOW_MS + n, None, b"x") for n in range(10)])
    query = WindowedCount(align(kafka_stream(spark, kafka.bootstrap, topic), alignment)).start(
        tmp_path, available_now=False
    )
    query.wait_until(lambda q: q.counted == 10)
    query.wait_until_idle()
    yield query
    query.stop()


def test_an_idle_query_asks_broker_and_coordinator_less_than_twenty_times_a_second(
    spark: SparkSession, idle: WindowedCount, asked: list[str]
) -> None:
    meter = Meter(spark)
    began, (_, _, before), asked_before = time.monotonic(), meter.read(), len(asked)
    assert asked_before, "nobody counts"
    assert idle.query is not None
    assert not idle.query.awaitTermination(5)
    of_the_broker, of_the_coordinator = meter.read()[2] - before, len(asked) - asked_before
    assert (of_the_broker + of_the_coordinator) / (time.monotonic() - began) < 20, (of_the_broker, of_the_coordinator)


@pytest.mark.long
def test_an_idle_query_sees_what_comes_in_any_split_and_in_new_ones(
    kafka: KafkaBroker, idle: WindowedCount, topic: str
) -> None:
    for n in range(4):
        topics.produce(kafka.bootstrap, topic, [(n, NOW_MS + n, None, b"x")])
        idle.wait_until(lambda q, n=n: q.counted == 11 + n)  # type: ignore[misc]
    topics.widen(kafka.bootstrap, topic, 5)
    topics.produce(kafka.bootstrap, topic, [(4, NOW_MS, None, b"x")])
    idle.wait_until(lambda q: q.counted == 15)


@pytest.mark.long
def test_an_idle_query_stops_at_once(idle: WindowedCount) -> None:
    began = time.monotonic()
    idle.stop()
    assert (
        time.monotonic() - began < 20
    )  # Spark's own part and other work of the machine included; Kafka's time-outs are longer
    assert idle.query is not None
    assert idle.query.exception() is None
