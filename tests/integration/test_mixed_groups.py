"""An aligned Kafka query, a gated query over files, and a script of curl calls hold each other. The
script is the guide's own.

Each of the three stops once, until the two others wait for it and for nobody else.
"""

import re
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from support.queries import PATIENCE_S, kafka_stream

HALF_HOUR = 1_800_000
DRIFT = 2 * HALF_HOUR
START = 1_767_225_600_000
HALVES = 12
STANDS_AT = {"script": START + 2 * HALF_HOUR, "aligned": START + 5 * HALF_HOUR, "gated": START + 9 * HALF_HOUR}
# A script that waits for its next line reports nothing meanwhile, and is not to be lost on a slow
# machine.
GROUP = {
    "max_drift_ms": DRIFT,
    "catch_up": "strict",
    "update_interval_ms": 200,
    "lease_ms": 600_000,
    "expected_sources": [*STANDS_AT],
}


class Reading(NamedTuple):
    """A batch, or a line of the script. `needed`: the event time that the group had to allow; wall
    clock in seconds.
    """

    lowest: int
    needed: int
    began: float
    done: float


class Notes:
    """The rows that one of the three has read. `stand`: called once, with the first that is not
    below `STANDS_AT`.
    """

    def __init__(self, name: str, stand: Callable[[str], None]) -> None:
        self.readings: list[Reading] = []
        self.rows = 0
        self.stood = False
        self._name, self._stand = name, stand

    def reach(self, event_time: int) -> None:
        """To be called before this is read to its end."""
        if event_time >= STANDS_AT[self._name] and not self.stood:
            self._stand(self._name)
            self.stood = True

    def take(self, batch: DataFrame, _: int) -> None:
        view, began = alignment_of(batch), time.time()
        assert view is not None
        times = F.unix_millis("ts")
        lowest, rows = batch.select(F.min(times), F.count("*")).collect()[0]
        self.reach(lowest)
        self.rows += rows
        aligned = bool(view.partitions)
        self.readings.append(
            Reading(lowest, view.target if aligned else lowest, view.planned_at if aligned else began, time.time())
        )


def group(url: str) -> dict[str, Any]:
    """As the coordinator has it."""
    found: dict[str, Any] = httpx.get(f"{url}/v1/groups/mixed", timeout=60).raise_for_status().json()
    return found


def states(url: str) -> dict[str, str]:
    """The coordinator's view of each source's reader."""
    return {source["source"]: source["readers"][0]["state"] for source in group(url)["sources"] if source["readers"]}


def all_wait_for(name: str, url: str) -> bool:
    """Whether all but this one wait, for it alone."""
    found = group(url)
    waiting = {
        source["source"]
        for source in found["sources"]
        for reader in source["readers"]
        if reader["waiting_ms"] is not None
    }
    return waiting == STANDS_AT.keys() - {name} and [held["source"] for held in found["alignment"]["blocked_by"]] == [
        name
    ]


def furthest_ahead(reader: Notes, others: Sequence[Notes]) -> int:
    """How far (ms) the reader was ahead of what another had yet to read, at most."""
    found = [-DRIFT]
    for reading in reader.readings:
        for other in others:
            unread = [theirs.lowest for theirs in other.readings if theirs.done > reading.began]
            found += [reading.needed - min(unread)] if unread else []
    return max(found)


def script(folder: Path) -> Path:
    """The script of the guide, unchanged."""
    text = (CHECKOUT / "docs" / "guide" / "python-consumers.md").read_text()
    found = re.search(r"^```bash\n(#!/usr/bin/env bash\n.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert len(found[1].splitlines()) <= 30
    path = folder / "source.sh"
    path.write_text(found[1])
    return path


def run_script(path: Path, url: str, notes: Notes) -> tuple[int, str]:
    """Returns its exit status and its stderr. Its lines come one by one, as its reader stops or
    goes on.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        ["bash", path, url, "mixed", "script"], stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as running:
        assert running.stdin is not None
        try:
            for number in range(HALVES):
                notes.reach(START + number * HALF_HOUR)
                running.stdin.write(f"{START + number * HALF_HOUR} row {number}\n")
                running.stdin.flush()
            said, complained = running.communicate(timeout=PATIENCE_S)
        finally:
            running.terminate()
    for line in said.splitlines():
        at, event_time, *_ = line.split()
        notes.readings.append(Reading(int(event_time), int(event_time), float(at), float(at)))
        notes.rows += 1
    return running.returncode, complained


@pytest.fixture
def stream(spark: SparkSession, kafka: KafkaBroker, topic: str) -> DataFrame:
    """A record every five minutes, in batches of half an hour."""
    topics.create(kafka.bootstrap, topic, 2)
    topics.produce(kafka.bootstrap, topic, [(n % 2, START + n * HALF_HOUR // 6, None, "x") for n in range(6 * HALVES)])
    return kafka_stream(spark, kafka.bootstrap, topic, maxOffsetsPerTrigger=6)


def test_an_aligned_query_a_gated_one_and_a_script_of_curl_calls_hold_each_other(
    spark: SparkSession, stream: DataFrame, tmp_path: Path
) -> None:
    with CoordinatorProcess() as coordinator:

        def stand(name: str) -> None:
            wait_for(lambda: all_wait_for(name, coordinator.url))

        aligned, gated, plain = everybody = [Notes(name, stand) for name in ("aligned", "gated", "script")]
        httpx.put(f"{coordinator.url}/v1/groups/mixed", json=GROUP).raise_for_status()
        member = Alignment(coordinator=Coordinator(coordinator.url, group="mixed", timeout="1 minute"))
        files = write_batches(
            tmp_path / "files", [[START + n * HALF_HOUR, START + n * HALF_HOUR + 60_000] for n in range(HALVES)]
        )
        from_files = spark.readStream.schema("ts TIMESTAMP").option("maxFilesPerTrigger", 1).json(str(files))
        from_kafka = align(stream, member).withColumnRenamed("timestamp", "ts")
        ran: list[tuple[int, str]] = []
        running = threading.Thread(target=lambda: ran.append(run_script(script(tmp_path), coordinator.url, plain)))
        running.start()
        queries = [
            df.writeStream.queryName(name)
            .foreachBatch(fn)
            .option("checkpointLocation", str(tmp_path / name))
            .trigger(availableNow=True)
            .start()
            for df, name, fn in (
                (from_kafka, "aligned", aligned.take),
                (from_files, "gated", gate(gated.take, "ts", member)),
            )
        ]
        try:
            assert [query.awaitTermination(PATIENCE_S) for query in queries] == [True, True]
            running.join(PATIENCE_S)
        finally:
            for query in queries:
                query.stop()
        wait_for(lambda: states(coordinator.url) == {"aligned": "finished", "gated": "finished"})
    assert [notes.rows for notes in everybody] == [6 * HALVES, 2 * HALVES, HALVES], ran
    assert [notes.stood for notes in everybody] == [True, True, True], "each held the two others"
    ((status, complained),) = ran
    assert status == 0, complained
    assert "blocked by" in complained, "the stream told it"
    for one in everybody:
        assert furthest_ahead(one, [other for other in everybody if other is not one]) <= DRIFT
