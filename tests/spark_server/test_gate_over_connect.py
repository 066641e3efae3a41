"""`gate` in foreachBatch of a client without a JVM: the function runs in a Python of the server."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer, client
from support.answers import wait_for
from support.http_readers import HttpReader

pytestmark = pytest.mark.long

PROGRAMS = Path(__file__).with_name("programs")
PATIENCE_S = 400.0
FOREVER_MS = 3_600_000
GROUP = {"max_drift_ms": HOUR_MS, "catch_up": "strict", "lease_ms": FOREVER_MS, "expected_sources": ["gated", "slow"]}


def waits(url: str, source: str) -> bool:
    """Whether a source's reader waits for its group."""
    found: dict[str, Any] = httpx.get(f"{url}/v1/groups/level", timeout=60).raise_for_status().json()
    readers = (reader for one in found["sources"] if one["source"] == source for reader in one["readers"])
    return any(reader["waiting_ms"] is not None for reader in readers)


def test_gated_batch_over_connect_waits_for_the_group(
    server: ConnectServer, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    ceiling = skewed.t0_ms + 4 * HOUR_MS
    with CoordinatorProcess() as coordinator:
        httpx.put(f"{coordinator.url}/v1/groups/level", json=GROUP).raise_for_status()
        slow = HttpReader(coordinator.url, "level", "slow")
        slow.report(ceiling - HOUR_MS)
        program = (PROGRAMS / "gated.py", tmp_path, kafka.bootstrap, skewed.name, coordinator.url, "level")
        running = client("client", tmp_path / "log", *program, server=server)
        second = tmp_path / "gated" / "offsets" / "1"
        wait_for(lambda: not running.alive or (second.exists() and waits(coordinator.url, "gated")), PATIENCE_S)
        assert running.alive, running.output()
        before = handed(tmp_path)
        slow.report(skewed.t0_ms + 100 * HOUR_MS)
        running.wait(PATIENCE_S)

    after = handed(tmp_path)
    assert [lowest for lowest, _, _ in before] == [skewed.t0_ms], "the first batch alone was below the group's ceiling"
    assert all(lowest <= allowed for lowest, _, allowed in after)
    assert max(lowest for lowest, _, _ in after) > ceiling
    assert sum(rows for _, rows, _ in after) == sum(skewed.counts())


def handed(folder: Path) -> list[Any]:
    """What came through the gate: lowest event time (ms), rows, and the ceiling (ms)."""
    file = folder / "handed"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
