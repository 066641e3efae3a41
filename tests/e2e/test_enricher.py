"""The example of a Spark job and a plain Python service in one group: killed, and brought back."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import Child
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.answers import wait_for

EXAMPLES = Path(__file__).parents[2] / "examples"
# As test_examples has it: with the Kafka connector on the classpath.
LAUNCH = """
import runpy, sys
from lockgate_testbed.spark import session
session("example")
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
RECORDS = 6_000
PATIENCE_S = 300
RULES = {"max_drift_ms": HOUR_MS // 4, "lease_ms": 6_000, "update_interval_ms": 200, "on_lost_reader": "hold"}


@pytest.fixture
def url(topic: str) -> Iterator[str]:
    with CoordinatorProcess() as coordinator:
        rules = {**RULES, "expected_sources": [f"{topic}-orders", f"{topic}-payments"]}
        httpx.put(f"{coordinator.url}/v1/groups/shop", json=rules, timeout=60).raise_for_status()
        yield coordinator.url


def rows(table: Path, query: str) -> list[tuple[int, ...]]:
    """What a program's table has by now; nothing where it has not begun."""
    if not table.exists():
        return []
    with closing(sqlite3.connect(table, timeout=60)) as connection:
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError:
            return []


@pytest.mark.long
def test_each_record_is_enriched_and_counted_once_whoever_is_killed(
    kafka: KafkaBroker, topic: str, url: str, tmp_path: Path
) -> None:
    orders, payments = (
        SkewedTopic(f"{topic}-{name}", records=RECORDS, span_hours=6) for name in ("orders", "payments")
    )
    for spec in (orders, payments):
        topics.load(kafka.bootstrap, spec)
    for folder in ("counts", "enriched"):
        (tmp_path / folder).mkdir()

    def start(what: str, spec: SkewedTopic, folder: str, launch: tuple[str, ...], number: int) -> Child:
        command = [sys.executable, *launch, str(EXAMPLES / what), kafka.bootstrap, spec.name]
        command += ["--coordinator", url, "--data", str(tmp_path / folder)]
        return Child(what, command, tmp_path / f"{what}-{number}.log", {"PYTHONUNBUFFERED": "1", **os.environ})

    running = [start("window_counts.py", orders, "counts", ("-c", LAUNCH), 0)]
    running += [start("enricher.py", payments, "enriched", (), number) for number in (1, 2)]
    enriched, counts = tmp_path / "enriched/enriched.db", tmp_path / "counts/counts.db"
    try:
        wait_for(lambda: len(rows(enriched, "SELECT * FROM enriched")) > RECORDS // 10, PATIENCE_S)
        running[1].kill()  # one process of the service: the other one takes its splits over
        running[0].kill()  # the Spark job: the service waits for it
        running.append(start("window_counts.py", orders, "counts", ("-c", LAUNCH), 3))
        running.append(start("enricher.py", payments, "enriched", (), 4))
        distinct = "SELECT DISTINCT part, at FROM enriched"
        wait_for(lambda: len(rows(enriched, distinct)) == RECORDS, PATIENCE_S)
        wait_for(
            lambda: sum(count for _, count in rows(counts, "SELECT minute, records FROM counts")) == RECORDS, PATIENCE_S
        )
    finally:
        for child in running:
            child.stop()
        topics.delete(kafka.bootstrap, orders.name, payments.name)
    assert len(rows(enriched, "SELECT part, at FROM enriched")) == RECORDS, "each once"
