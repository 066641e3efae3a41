"""Event time in the payload: Kafka's own timestamps say nothing here."""

import json
from pathlib import Path

import pytest

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS
from support.environments import Environment, finished
from support.stream_jobs import StreamJob

pytestmark = pytest.mark.long

STEP_MS = 60_000
PLACED = "from_json(CAST(value AS STRING), 'placed BIGINT').placed"
# (first event time, ms between two records) of each partition: one is dense, one starts late
LOGS = {0: (T0_MS, STEP_MS // 4), 1: (T0_MS, STEP_MS), 2: (T0_MS + 3 * HOUR_MS, STEP_MS)}
UNTIL = T0_MS + 12 * HOUR_MS


def test_a_job_is_level_by_the_event_time_in_its_records(
    environment: Environment, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, len(LOGS))
    times = {p: list(range(first, UNTIL, step)) for p, (first, step) in LOGS.items()}
    records = [(p, T0_MS, b"", json.dumps({"placed": at}).encode()) for p, log in times.items() for at in log]
    topics.produce(kafka.bootstrap, topic, records)
    job = StreamJob("payload", kafka.bootstrap, topic, tmp_path, 500, windows=True, time=f"timestamp_millis({PLACED})")

    finished(environment.start(job.aligned(eventTime=PLACED)))

    for begin, count in job.counts.items():
        assert count == sum(begin <= at < begin + HOUR_MS for log in times.values() for at in log)
    assert len(job.counts) >= 10
    for ends in job.batches_planned:
        read = max((times[p][end - 1] for p, end in ends.items() if end > 0), default=0)
        assert read <= min((times[p][end] for p, end in ends.items() if end < len(times[p])), default=UNTIL)
