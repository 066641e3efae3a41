"""An aligned Kafka query, a gated query over files, and a script of curl calls hold each other. The script is the guide's own."""

import re
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import httpx
import pyspark.sql.functions as F
import pytest
from pyspark.sql import DataFrame, SparkSession

from lockgate_spark import Alignment, Coordinator, align, alignment_of, gate
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.gated import write_batches
from support.imports import CHECKOUT
from support.queries import kafka_stream

HALF_HOUR = 1_800_000
DRIFT = 2 * HALF_HOUR
START = 1_767_225_600_000
HALVES = 12
GROUP = {"max_drift_ms": DRIFT, "catch_up": "strict", "update_interval_ms": 200, "expected_sources": ["aligned", "gated", "script"]}


class Reading(NamedTuple):
    """A batch, or a line of the script. `needed`: the event time that the group had to allow; wall clock in seconds."""

    lowest: int
    needed: int
    began: float
    done: float


class Notes:
    """What one of the three has read."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.rows = 0

    def take(self, batch: DataFrame, _: int) -> None:
        view, began = alignment_of(batch), time.time()
        assert view is not None
        times = F.unix_millis("ts")
        lowest, rows = batch.select(F.min(times), F.count("*")).collect()[0]
        self.rows += rows
        aligned = bool(view.splits)
        self.readings.append(Reading(lowest, view.target if aligned else lowest, view.planned_at if aligned else began, time.time()))


def states(url: str) -> dict[str, str]:
    """What the coordinator says of each source's reader."""
    sources = httpx.get(f"{url}/v1/groups/mixed").json()["sources"]
    return {source["source"]: source["readers"][0]["state"] for source in sources if source["readers"]}


def furthest_ahead(reader: Notes, others: Sequence[Notes]) -> int:
    """How far (ms) the reader was ahead of what another had yet to read, at most."""
    found = [-DRIFT]
    for reading in reader.readings:
        for other in others:
            unread = [theirs.lowest for theirs in other.readings if theirs.done > reading.began]
            found += [reading.needed - min(unread)] if unread else []
    return max(found)


def script(folder: Path) -> Path:
    """The script of the guide, as it stands there."""
    text = (CHECKOUT / "docs" / "guide" / "groups.md").read_text()
    found = re.search(r"^```bash\n(#!/usr/bin/env bash\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert len(found[1].splitlines()) <= 35
    path = folder / "source.sh"
    path.write_text(found[1])
    return path


def run_script(path: Path, url: str, notes: Notes) -> subprocess.CompletedProcess[str]:
    lines = "".join(f"{START + number * HALF_HOUR} row {number}\n" for number in range(HALVES))
    ran = subprocess.run(["bash", path, url, "mixed", "script"], input=lines, capture_output=True, text=True, timeout=120)
    for line in ran.stdout.splitlines():
        at, event_time, *_ = line.split()
        notes.readings.append(Reading(int(event_time), int(event_time), float(at), float(at)))
        notes.rows += 1
    return ran


@pytest.fixture
def stream(spark: SparkSession, kafka: KafkaBroker, topic: str) -> DataFrame:
    """A record every five minutes, in batches of half an hour."""
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(n % 2, START + n * HALF_HOUR // 6, None, "x") for n in range(6 * HALVES)])
    return kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=6)


def test_an_aligned_query_a_gated_one_and_a_script_of_curl_calls_hold_each_other(
    spark: SparkSession, stream: DataFrame, tmp_path: Path
) -> None:
    aligned, gated, plain = everybody = Notes(), Notes(), Notes()
    with CoordinatorProcess() as coordinator:
        httpx.put(f"{coordinator.url}/v1/groups/mixed", json=GROUP).raise_for_status()
        member = Alignment(coordinator=Coordinator(coordinator.url, group="mixed"))
        files = write_batches(tmp_path / "files", [[START + n * HALF_HOUR, START + n * HALF_HOUR + 60_000] for n in range(HALVES)])
        from_files = spark.readStream.schema("ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(str(files))
        from_kafka = align(stream, member).withColumnRenamed("timestamp", "ts")
        ran: list[subprocess.CompletedProcess[str]] = []
        running = threading.Thread(target=lambda: ran.append(run_script(script(tmp_path), coordinator.url, plain)))
        running.start()
        queries = [
            df.writeStream.queryName(name)
            .foreachBatch(fn)
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(availableNow=True)
            .start()
            for df, name, fn in ((from_kafka, "aligned", aligned.take), (from_files, "gated", gate(gated.take, "ts", member)))
        ]
        try:
            assert [query.awaitTermination(120) for query in queries] == [True, True]
            running.join(60)
        finally:
            for query in queries:
                query.stop()
        wait_for(lambda: states(coordinator.url) == {"aligned": "finished", "gated": "finished"})
    assert [notes.rows for notes in everybody] == [6 * HALVES, 2 * HALVES, HALVES], ran
    assert ran[0].returncode == 0, ran[0].stderr
    assert "held by" in ran[0].stderr, "the stream told it"
    for one in everybody:
        assert furthest_ahead(one, [other for other in everybody if other is not one]) <= DRIFT
