"""A coordinator that takes two seconds for every answer: two queries of a group stay level through
it, and lose nothing.
"""

from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.link import Link
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.queries import WindowedCount, kafka_stream, stop_all

RECORDS = 4_000
ONE_WAY_S = 1.0
GROUP = {"max_drift_ms": HOUR_MS, "lease_ms": 120_000, "expected_sources": ["first", "second"], "catch_up": "strict"}


@pytest.mark.long
def test_two_queries_are_exact_and_level_though_every_answer_of_the_coordinator_takes_two_seconds(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    spec = SkewedTopic(topic, weights=(1, 2, 4), records=RECORDS, span_hours=3.0, late_start_hours=1.0)
    topics.load(kafka.bootstrap, spec)
    queries: list[WindowedCount] = []
    with CoordinatorProcess() as coordinator, Link(urlsplit(coordinator.url).port or 0) as link:
        httpx.put(f"{coordinator.url}/v1/groups/slow", json=GROUP).raise_for_status()
        link.slow(ONE_WAY_S)
        for source, budget in (("first", RECORDS), ("second", RECORDS // 6)):
            group = Coordinator(f"http://127.0.0.1:{link.port}", group="slow", source=source, timeout="1 minute")
            stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=budget)
            queries.append(WindowedCount(align(stream, Alignment(coordinator=group))))
        try:
            for n, query in enumerate(queries):
                query.start(tmp_path / str(n))
            assert [query.finish().counted for query in queries] == [RECORDS, RECORDS]
        finally:
            stop_all(queries)
    for query in queries:
        plans = query.plans
        assert all(plan.target <= plan.read_limit for plan in plans)
        assert max(plan.seconds for plan in plans) >= 2 * ONE_WAY_S, "an answer was waited for"
        assert {plan.coordinator for plan in plans} == {"connected"}, "slow is not away"
