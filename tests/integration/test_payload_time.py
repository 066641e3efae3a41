"""Event time in the payload on a real broker, where the record timestamps say nothing of it."""

import json
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, BatchAlignment, align
from lockgate_testbed import topics
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS
from support.queries import WindowedCount, kafka_stream

MINUTE = 60_000
FAR = 4_070_908_800_000  # 2099
STAMP = T0_MS + 400 * HOUR_MS  # of all records alike
JSON = "from_json(CAST(value AS STRING), 'ts TIMESTAMP').ts"
LONG = "CAST(CAST(key AS STRING) AS BIGINT)"
RECORDS, BUDGET = 1_800, 400

EARLY = [T0_MS + n * 2 * MINUTE // 3 for n in range(900)]  # ten hours
# five hours, the last ones of those
LATE = [T0_MS + 5 * HOUR_MS + n * MINUTE // 3 for n in range(900)]


def produce(kafka: KafkaBroker, topic: str, *logs: list[int]) -> list[list[int]]:
    """A log a partition: event times in ms, in the payload both as JSON and as the digits of the
    key.
    """
    topics.create(kafka.bootstrap, topic, len(logs))
    append(kafka, topic, *logs)
    return list(logs)


def append(kafka: KafkaBroker, topic: str, *logs: list[int]) -> None:
    records = [(partition, STAMP, str(ms), document(ms)) for partition, log in enumerate(logs) for ms in log]
    topics.produce(kafka.bootstrap, topic, records)


def document(ms: int) -> str:
    return json.dumps(
        {"id": 7, "ts": datetime.fromtimestamp(ms / 1000, timezone.utc).isoformat(timespec="milliseconds")}
    )


def payload(expression: str) -> Alignment:
    return Alignment(max_drift="10 minutes", event_time=expression)


def parsed(stream: DataFrame) -> DataFrame:
    return stream.selectExpr(f"{JSON} AS timestamp")


def drift(plans: list[BatchAlignment], logs: list[list[int]]) -> int:
    """By how many ms a split was beyond a batch's target, or behind it with something left to
    read.
    """
    beyond = [0]
    for plan in plans:
        for split in plan.partitions:
            log = logs[int(split.partition.rpartition("-")[2])]
            beyond += [event_time - plan.target for event_time in log[split.position : split.end]]
            beyond += [plan.target - event_time for event_time in log[split.end : split.end + 1]]
    return max(beyond)


@pytest.mark.parametrize("expression", [JSON, pytest.param(LONG, marks=pytest.mark.long)])
def test_native_spark_loses_rows_where_alignment_by_the_payload_loses_none(
    expression: str, spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    logs = produce(kafka, topic, EARLY, LATE)
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET)
    aligned = WindowedCount(parsed(align(stream, payload(expression)))).start(tmp_path / "aligned").finish()
    assert aligned.counted == RECORDS
    assert len(aligned.plans) >= RECORDS // BUDGET
    assert drift(aligned.plans, logs) < 1_000
    assert all(sum(split.end - split.position for split in plan.partitions) <= BUDGET for plan in aligned.plans)
    if expression == JSON:
        native = WindowedCount(parsed(stream)).start(tmp_path / "native").finish()
        assert native.counted < RECORDS


@pytest.mark.long
def test_records_that_the_expression_cannot_read_or_believe_are_left_out_and_hold_nobody(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    logs = [list(EARLY), list(LATE)]
    topics.create(kafka.bootstrap, topic, 2)
    values: list[list[str | bytes | None]] = [[document(ms) for ms in log] for log in logs]
    unfit = (None, b"\xff{", "", document(FAR), '{"ts": "gestern"}')
    values[0][0:0] = unfit
    values[1][450:450] = unfit
    topics.produce(
        kafka.bootstrap,
        topic,
        [(partition, STAMP, None, value) for partition, log in enumerate(values) for value in log],
    )
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET)
    # fails where JSON gives null
    strict = "CAST(get_json_object(CAST(value AS STRING), '$.ts') AS TIMESTAMP)"
    df = parsed(align(stream, payload(strict))).where("timestamp < current_timestamp() + INTERVAL 1 DAY")
    query = WindowedCount(df).start(tmp_path).finish()
    assert query.counted == RECORDS
    assert all(plan.target < T0_MS + 11 * HOUR_MS for plan in query.plans[:3])
    assert any(split.left_out == 5 for split in query.plans[0].partitions)
    assert "has no event time" in caplog.text


@pytest.mark.long
def test_a_source_by_its_payload_and_one_by_its_timestamps_are_planned_together(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    produce(kafka, f"{topic}-payload", EARLY)
    topics.create(kafka.bootstrap, f"{topic}-stamps", 1)
    topics.produce(kafka.bootstrap, f"{topic}-stamps", [(0, ms, None, b"x") for ms in LATE])
    one, other = (
        kafka_stream(spark, kafka.bootstrap, f"{topic}-{name}", maxOffsetsPerTrigger=BUDGET)
        for name in ("payload", "stamps")
    )
    by_payload = parsed(align(one, payload(JSON)))
    by_stamp = align(other, Alignment(max_drift="10 minutes")).select("timestamp")
    query = WindowedCount(by_payload.union(by_stamp)).start(tmp_path).finish()
    assert query.counted == RECORDS
    first = {split.source: split for split in query.plans[0].partitions}
    assert first[0].end >= 0.99 * BUDGET
    assert first[1].end == 0, "the later source waits for the earlier"


@pytest.mark.long
def test_a_live_query_by_the_payload_goes_on_after_a_restart_and_takes_in_what_arrives(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    logs = produce(kafka, topic, EARLY, LATE)

    def query(budget: int) -> WindowedCount:
        stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=budget)
        return WindowedCount(parsed(align(stream, payload(JSON)))).start(tmp_path, available_now=False)

    before = run_until(query(40), lambda query: query.counted >= 120)  # long before its end
    append(kafka, topic, [EARLY[-1] + n for n in range(100)], [LATE[-1] + n for n in range(100)])
    logs = [EARLY + [EARLY[-1] + n for n in range(100)], LATE + [LATE[-1] + n for n in range(100)]]
    after = run_until(query(BUDGET), lambda query: sum({**before.windows, **query.windows}.values()) == RECORDS + 200)
    assert drift(before.plans + after.plans, logs) < 1_000


def run_until(query: WindowedCount, fulfilled: Callable[[WindowedCount], bool]) -> WindowedCount:
    try:
        query.wait_until(fulfilled)
    finally:
        query.stop()
    return query


GUIDES = "CAST(get_json_object(CAST(value AS STRING), '$.ts') AS BIGINT)"
BAD = ("abc", 2**63 - 1, -(2**63), -1_000, 253_402_300_800_000, None, "")


def guarded(df: DataFrame) -> DataFrame:
    """The time of a query that knows its producers: what is absurd is null."""
    ms = "TRY_CAST(get_json_object(CAST(value AS STRING), '$.ts') AS BIGINT)"
    return df.selectExpr(f"timestamp_millis(IF({ms} BETWEEN 0 AND 4102444800000, {ms}, NULL)) AS timestamp")


@pytest.mark.long
@pytest.mark.parametrize("event_time", [GUIDES, f"timestamp_millis({GUIDES})"])
def test_a_failing_event_time_ends_no_query_that_plain_spark_reads(
    event_time: str, spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    mixed = [ms for n, good in enumerate(EARLY) for ms in (BAD[n % len(BAD)], good)]
    records = [(p, STAMP, None, json.dumps({"ts": ms})) for p, log in enumerate((mixed, LATE)) for ms in log]
    topics.produce(kafka.bootstrap, topic, records)
    stream = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=BUDGET, minPartitions=6)
    native = WindowedCount(guarded(stream)).start(tmp_path / "native").finish()
    dry = align(stream, Alignment(mode="observe", event_time=event_time, report=str(tmp_path / "report")))
    observed = WindowedCount(guarded(dry)).start(tmp_path / "observed").finish()
    assert observed.windows == native.windows
    rows = json.loads((tmp_path / "report/lockgate-observed.json").read_text(encoding="utf-8"))["rows"]
    truth = RECORDS - native.counted
    assert truth > 0
    assert rows["lost"] == {"least": truth, "most": truth, "exact": True, "basis": "rows"}
    aligned = align(stream, Alignment(max_drift="10 minutes", event_time=event_time, late_rows="count"))
    kept = WindowedCount(guarded(aligned)).start(tmp_path / "aligned").finish()
    assert kept.counted == RECORDS
    metrics = [progress["sources"][0]["metrics"] for progress in kept.query.recentProgress]  # type: ignore[union-attr]
    assert sum(int(each["lateRows"]) for each in metrics if "lateRows" in each) == 0
    assert int(metrics[-1]["alignmentLeftOut"]) > 0
