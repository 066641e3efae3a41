"""A group of three queries: one of a classic session, one over Connect, one of a program in Scala.
Whichever is slow holds the two others.
"""

from pathlib import Path

import httpx
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from lockgate_spark import Alignment, Coordinator, align
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.environments import PATIENCE_S, Environment, finished
from support.exact_sink import all_rows
from support.queries import kafka_stream
from support.stream_jobs import Ends, StreamJob

pytestmark = pytest.mark.long

DRIFT = 4 * HOUR_MS
RECORDS = 4_000
ALL = ("classic", "connect", "scala")


@pytest.fixture(scope="module")
def day(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("a-day-of-three", weights=(1, 2, 4), records=RECORDS)
    topics.load(kafka.bootstrap, spec)
    return spec


@pytest.mark.parametrize("slow", ALL)
def test_three_queries_never_plan_further_apart_than_the_drift_whichever_is_slow(
    spark: SparkSession,
    over_connect: Environment,
    in_scala: Environment,
    kafka: KafkaBroker,
    day: SkewedTopic,
    tmp_path: Path,
    slow: str,
) -> None:
    with CoordinatorProcess() as coordinator:
        config = {"max_drift_ms": DRIFT, "catch_up": "strict", "expected_sources": [*ALL]}
        httpx.put(f"{coordinator.url}/v1/groups/three", json=config).raise_for_status()
        place = {"coordinator.url": coordinator.url, "coordinator.group": "three"}
        jobs = {name: job_of(kafka, day, tmp_path, name, RECORDS // (12 if name == slow else 1)) for name in ALL}
        scala = in_scala.start(jobs["scala"].aligned(**place))
        connect = over_connect.start(jobs["connect"].aligned(**place))
        level = Alignment(coordinator=Coordinator(coordinator.url, group="three"))
        classic = start_classic(spark, jobs["classic"], level)
        assert classic.awaitTermination(PATIENCE_S)
        finished(connect)
        finished(scala)

    for job in jobs.values():
        assert job.rows == all_rows(day.counts())
    fast = [name for name in ALL if name != slow]
    drifts = {name: worst_drift(day, jobs[name], jobs[slow]) for name in fast}
    assert all(0 < drift <= DRIFT for drift in drifts.values()), drifts
    assert all(len(jobs[name].batches_planned) >= 4 for name in fast), "each was paused, for it could read all at once"


def job_of(kafka: KafkaBroker, spec: SkewedTopic, folder: Path, name: str, budget: int) -> StreamJob:
    return StreamJob(name, kafka.bootstrap, spec.name, folder / name, budget)


def start_classic(spark: SparkSession, job: StreamJob, alignment: Alignment) -> StreamingQuery:
    stream = kafka_stream(spark, job.bootstrap, job.topic, maxOffsetsPerTrigger=job.budget)
    rows = align(stream, alignment).select("partition", "offset")
    writer = rows.writeStream.queryName(job.name).format("json").option("path", str(job.out))
    return writer.option("checkpointLocation", str(job.checkpoint)).trigger(availableNow=True).start()


def worst_drift(spec: SkewedTopic, planned: StreamJob, other: StreamJob) -> int:
    """The most (ms) that a plan was ahead of what the other job had not read by then."""
    counts = spec.counts()
    worst = 0
    for at, ends in planned.planned_at():
        stood: Ends = max((done for done in other.done_at() if done[0] <= at), default=(0.0, dict.fromkeys(ends, 0)))[1]
        unread = [spec.event_time(p, end) for p, end in stood.items() if end < counts[p]]
        read = [spec.event_time(p, end - 1) for p, end in ends.items() if end > 0]
        worst = max(worst, max(read) - (min(unread) - 1) if unread and read else 0)
    return worst
