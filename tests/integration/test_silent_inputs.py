"""Inputs that have ended, are empty, or bring something only now and then; rows at the very
watermark; a restart from further back.

Each of these is a bug of another system's.
"""

import shutil
import threading
import time
from pathlib import Path

import httpx
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, Coordinator, align, align_all
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, T0_MS
from support.answers import wait_for
from support.queries import PATIENCE_S, WindowedCount, kafka_stream
from support.rows import Rows

MINUTE_MS = 60_000


def append(kafka: KafkaBroker, topic: str, times: list[int]) -> None:
    topics.produce(kafka.bootstrap, topic, [(0, event_time, None, b"x") for event_time in times])


@pytest.mark.long
def test_a_restart_with_one_input_already_read_reads_what_is_left_of_the_other(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """Quix Streams' issue 1116: the input that had been read kept the other one waiting for
    ever.
    """
    names = [f"{topic}-{side}" for side in "ab"]
    for name, hours in zip(names, (1, 24), strict=True):
        topics.create(kafka.bootstrap, name, 1)
        append(kafka, name, [T0_MS + n * hours * MINUTE_MS for n in range(60)])
    streams = [kafka_stream(spark, kafka.bootstrap, name, maxOffsetsPerTrigger=10) for name in names]
    one, other = align_all(streams, Alignment(max_drift="10 minutes"))

    def enough(_: DataFrame, __: int) -> None:
        if sum(row.topic == names[0] for batch in first.batches[:-1] for row in batch) == 60:
            raise RuntimeError("enough")

    first = Rows(one.union(other), enough)
    with pytest.raises(StreamingQueryException, match="enough"):
        first.start(tmp_path).finish()
    assert len(first.all) < 120
    again = Rows(one.union(other)).start(tmp_path).finish()
    assert {row.topic for row in again.batches[-1]} == {names[1]}
    assert len({*first.all, *again.all}) == 120


@pytest.mark.long
def test_scheduled_runs_over_inputs_of_which_another_one_is_empty_each_time_lose_nothing(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """SPARK-50046: each run of AvailableNow forgets the input that brought nothing."""
    names, now = [f"{topic}-{side}" for side in "ab"], int(time.time() * 1000)
    for name in names:
        topics.create(kafka.bootstrap, name, 1)
        append(kafka, name, [now - 100 * MINUTE_MS])
    streams = [kafka_stream(spark, kafka.bootstrap, name) for name in names]
    native = streams[0].union(streams[1])
    one, other = align_all(streams, Alignment(max_drift="10 minutes", idle_timeout="2 hours"))
    runs = (
        (names[0], range(60, 30, -1)),
        (names[1], range(60, 30, -1)),
        (names[0], range(30, 0, -1)),
        (names[1], range(30, 0, -1)),
    )
    windows: dict[str, dict[object, int]] = {"native": {}, "aligned": {}}
    for name, minutes in runs:
        append(kafka, name, [now - n * MINUTE_MS for n in minutes])
        for way, stream in (("native", native), ("aligned", one.union(other))):
            windows[way] |= WindowedCount(stream, window="1 minute").start(tmp_path / way).finish().windows
    counted = {way: sum(of.values()) for way, of in windows.items()}
    assert counted["native"] < 122
    assert counted["aligned"] == 122


@pytest.mark.long
def test_scheduled_query_waits_for_the_next_run_of_a_parked_one(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """SPARK-50046 again, between two queries of a group."""
    now = int(time.time() * 1000)
    with CoordinatorProcess() as coordinator:
        config = {"max_drift_ms": 10 * MINUTE_MS, "catch_up": "strict", "update_interval_ms": 200}
        httpx.put(f"{coordinator.url}/v1/groups/g", json=config).raise_for_status()

        def run(name: str, **more: str) -> Rows:
            of = Coordinator(coordinator.url, group="g", source=name, park="1 hour", timeout="1 minute")
            stream = kafka_stream(spark, kafka.bootstrap, f"{topic}-{name}")
            return Rows(align(stream, Alignment(coordinator=of, idle_timeout="3 hours", **more))).start(tmp_path / name)

        def brings(name: str, *minutes: int) -> None:
            append(kafka, f"{topic}-{name}", [now - n * MINUTE_MS for n in minutes])

        for name in "ab":
            topics.create(kafka.bootstrap, f"{topic}-{name}", 1)
        brings("a", 100)
        assert len(run("a").finish().all) == 1
        brings("a", 60)
        brings("b", 100, 95, 60)
        alone = run("b", max_wait="1 second")
        with pytest.raises(StreamingQueryException, match=r"max_wait is 1 s; blocked by a/0"):
            alone.finish()
        assert [row.offset for row in alone.all] == [0, 1], (
            "as far as the drift allows above where the other one stands"
        )
        both = [run(name) for name in "ab"]
        assert [[row.offset for row in rows.finish().all] for rows in both] == [[1], [2]]


@pytest.mark.long
def test_rows_of_one_timestamp_at_the_very_watermark_are_kept_where_native_spark_drops_them(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 2)
    starts_late = [(1, T0_MS + n // 12, None, b"x") for n in range(24, 48)]
    topics.produce(kafka.bootstrap, topic, [*((0, T0_MS + n // 12, None, b"x") for n in range(48)), *starts_late])
    native = kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=10)
    found = {}
    for way, stream in (("native", native), ("aligned", align(native, Alignment(max_drift=1)))):
        # Drops what is at the watermark, which is 1 ms below the highest timestamp of the batches
        # before.
        distinct = stream.withWatermark("timestamp", "1 millisecond").dropDuplicates(
            ["partition", "offset", "timestamp"]
        )
        found[way] = Rows(distinct).start(tmp_path / way).finish()
    assert len(found["native"].all) < 72
    assert len(found["aligned"].all) == len(set(found["aligned"].all)) == 72
    assert [len(batch) for batch in found["aligned"].batches if batch] == [10, 2, 10, 2, 10, 10, 4, 10, 10, 4]


def test_a_live_query_that_has_nothing_to_read_holds_its_group_to_the_clock_less_its_idle_timeout_and_no_further(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    now, names = int(time.time() * 1000), {"empty": f"{topic}-empty", "full": f"{topic}-full"}
    for name in names.values():
        topics.create(kafka.bootstrap, name, 1)
    # Two hours less the drift: what is older than one may be read.
    append(kafka, names["full"], [*(T0_MS + n * HOUR_MS for n in range(5)), now - 70 * MINUTE_MS, now - 30 * MINUTE_MS])
    with CoordinatorProcess() as coordinator:
        group = f"{coordinator.url}/v1/groups/g"
        httpx.put(
            group, json={"max_drift_ms": HOUR_MS, "catch_up": "strict", "expected_sources": list(names)}
        ).raise_for_status()

        def query(name: str, **more: str) -> Rows:
            stream = kafka_stream(spark, kafka.bootstrap, names[name], maxOffsetsPerTrigger=5)
            of = Coordinator(coordinator.url, group="g", source=name, timeout="1 minute")
            return Rows(align(stream, Alignment(coordinator=of, idle_timeout="2 hours", **more)))

        def empty_is() -> str:
            found = httpx.get(f"{group}/sources/empty", timeout=60).json()
            return str(found["readers"][0]["state"]) if found.get("readers") else ""

        empty = query("empty").start(tmp_path / "empty", available_now=False)
        try:
            wait_for(lambda: empty_is() in ("active", "idle"))
            full = query("full", max_wait="2 seconds").start(tmp_path / "full")
            with pytest.raises(StreamingQueryException, match=r"max_wait is 2 s; blocked by empty/0"):
                full.finish()
            assert [row.offset for row in full.all] == [*range(6)]
            assert empty_is() in ("active", "idle"), "neither finished nor lost"
            assert empty.running
        finally:
            empty.stop()
        assert empty.all == []


@pytest.mark.long
def test_a_query_restarted_from_an_older_checkpoint_takes_its_group_back_and_the_other_waits_for_it(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    append(kafka, topic, [T0_MS + n * HOUR_MS for n in range(8)])
    resumed = threading.Event()

    def copy(_: DataFrame, batch_id: int) -> None:
        if batch_id == 1:
            shutil.copytree(tmp_path / "first", tmp_path / "older")

    def hold(_: DataFrame, batch_id: int) -> None:
        if batch_id == 2:
            assert resumed.wait(PATIENCE_S)

    with CoordinatorProcess() as coordinator:
        group = f"{coordinator.url}/v1/groups/g"
        httpx.put(
            group, json={"max_drift_ms": HOUR_MS, "catch_up": "strict", "update_interval_ms": 200}
        ).raise_for_status()
        stream = kafka_stream(spark, kafka.bootstrap, topic)
        first, other = (
            align(stream, Alignment(coordinator=Coordinator(coordinator.url, group="g", source=name))) for name in "ab"
        )
        Rows(first, copy).start(tmp_path / "first").finish()
        back = Rows(first, hold).start(tmp_path / "older")
        back.wait_until(lambda rows: len(rows.batches) == 2)
        waiting = Rows(other).start(tmp_path / "other")
        waiting.wait_until(lambda rows: len(rows.all) == 3)
        wait_for(lambda: (httpx.get(f"{group}/sources/b", timeout=60).json()["readers"][0]["waiting_ms"] or 0) > 500)
        assert len(waiting.all) == 3, "the first is at hour 2 again, and an hour above that is not yet hour 3"
        resumed.set()
        assert [len(rows.finish().all) for rows in (back, waiting)] == [7, 8]
