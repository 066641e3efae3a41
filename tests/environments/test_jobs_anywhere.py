"""A job in each environment over a topic of which one partition starts six hours late."""

from pathlib import Path

import pytest

from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.environments import Environment, finished
from support.exact_sink import all_rows
from support.stream_jobs import StreamJob, apart, expected_counts

RECORDS = 8_000
BUDGET = 1_000


@pytest.fixture(scope="module")
def day(kafka: KafkaBroker) -> SkewedTopic:
    spec = SkewedTopic("a-day-of-environments", weights=(1, 2, 4, 4), records=RECORDS, late_start_hours=6)
    topics.load(kafka.bootstrap, spec)
    return spec


def lost(job: StreamJob, spec: SkewedTopic) -> int:
    """Rows that are missing from closed windows."""
    expected = expected_counts(spec, HOUR_MS)
    return sum(expected[begin] - count for begin, count in job.counts.items())


def worst(batches: list[dict[int, int]], spec: SkewedTopic) -> int:
    return max(apart(spec, ends) for ends in batches)


def test_an_aligned_job_loses_no_row_and_its_partitions_are_level_after_each_batch(
    environment: Environment, kafka: KafkaBroker, day: SkewedTopic, tmp_path: Path
) -> None:
    job = StreamJob("aligned", kafka.bootstrap, day.name, tmp_path, 2 * BUDGET, windows=True).aligned()

    told = finished(environment.start(job))

    assert lost(job, day) == 0
    assert len(job.counts) >= 20
    assert worst(job.batches_planned, day) == 0
    assert told.metric("alignmentTarget")


@pytest.mark.long
def test_a_job_that_asks_for_nothing_drifts_apart_and_loses_rows_as_without_the_extension(
    environment: Environment, kafka: KafkaBroker, day: SkewedTopic, tmp_path: Path
) -> None:
    job = StreamJob("native", kafka.bootstrap, day.name, tmp_path, BUDGET, windows=True)

    told = finished(environment.start(job))

    assert lost(job, day) > 500
    assert worst(job.batches_planned, day) > 4 * HOUR_MS
    assert not told.metric("alignmentTarget")


@pytest.mark.long
def test_the_session_s_conf_aligns_a_stream_that_has_no_option(
    environment: Environment, kafka: KafkaBroker, day: SkewedTopic, tmp_path: Path
) -> None:
    conf = {"spark.lockgate.align": "true"}
    job = StreamJob("by-conf", kafka.bootstrap, day.name, tmp_path, BUDGET, conf=conf)

    finished(environment.start(job))

    assert job.rows == all_rows(day.counts())
    assert worst(job.batches_planned, day) == 0


@pytest.mark.long
def test_a_checkpoint_goes_from_native_to_aligned_and_back(
    environment: Environment, kafka: KafkaBroker, day: SkewedTopic, tmp_path: Path
) -> None:
    native = StreamJob("to-and-fro", kafka.bootstrap, day.name, tmp_path, BUDGET, batches=2)
    finished(environment.start(native))
    natively = len(native.batches_planned)
    aligned = native.aligned()
    finished(environment.start(aligned))
    so_far = len(native.batches_planned)
    finished(environment.start(StreamJob("to-and-fro", kafka.bootstrap, day.name, tmp_path, BUDGET)))

    assert native.rows == all_rows(day.counts())
    boundaries = [apart(day, ends) for ends in native.batches_planned]
    assert boundaries[natively - 1] > HOUR_MS
    assert boundaries[so_far - 1] < boundaries[natively - 1]
    assert len(boundaries) > so_far


@pytest.mark.long
def test_slices_end_where_an_hour_does(
    environment: Environment, kafka: KafkaBroker, day: SkewedTopic, tmp_path: Path
) -> None:
    job = StreamJob("slices", kafka.bootstrap, day.name, tmp_path, BUDGET).aligned(slice="1 hour")

    finished(environment.start(job))

    assert job.rows == all_rows(day.counts())
    assert len(job.batches_planned) >= 8
    for ends in job.batches_planned[:-1]:
        assert ends in [first_of(day, day.t0_ms + hour * HOUR_MS) for hour in range(1, 25)]


def first_of(spec: SkewedTopic, time: int) -> dict[int, int]:
    """The first offset of each partition at or above a time."""
    counts = enumerate(spec.counts())
    return {p: sum(spec.event_time(p, offset) < time for offset in range(count)) for p, count in counts}


@pytest.mark.long
def test_late_rows_are_counted_in_a_dry_run_which_reads_as_native_spark_does(
    environment: Environment, kafka: KafkaBroker, day: SkewedTopic, tmp_path: Path
) -> None:
    job = StreamJob("observed", kafka.bootstrap, day.name, tmp_path, BUDGET, windows=True).aligned(mode="observe")

    told = finished(environment.start(job))

    assert worst(job.batches_planned, day) > 4 * HOUR_MS
    assert sum(map(int, told.metric("lateRows"))) == late(job, day) > lost(job, day) > 500


def late(job: StreamJob, spec: SkewedTopic) -> int:
    """Rows at or below the watermark that Spark had logged with the batch before."""
    behind, starts = 0, dict.fromkeys(range(spec.partitions), 0)
    for below, ends in zip([0, *job.watermarks], job.batches_planned, strict=False):
        spans = ((p, offset) for p, end in ends.items() for offset in range(starts[p], end))
        behind += sum(spec.event_time(p, offset) <= below for p, offset in spans)
        starts = ends
    return behind
