"""A gate over Delta tables: it hands on each row once, and keeps two queries within the drift."""

import json
from pathlib import Path

import httpx
import pytest

import support
from lockgate_testbed import jars
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.spark_programs import submit
from support.delta_job import HOURS, QUERIES, ROWS, T0_S
from support.environments import PATIENCE_S
from support.left_out import or_left_out

pytestmark = pytest.mark.long

HOUR_MS = 3_600_000
DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def test_two_gated_queries_on_delta_tables_stay_within_the_drift(tmp_path: Path) -> None:
    delta, job = or_left_out(jars.delta), Path(support.__path__[0]) / "delta_job.py"
    with CoordinatorProcess() as coordinator:
        group = {"max_drift_ms": HOUR_MS, "catch_up": "strict", "expected_sources": list(QUERIES)}
        httpx.put(f"{coordinator.url}/v1/groups/delta", json=group).raise_for_status()
        submit("delta", tmp_path / "log", job, coordinator.url, tmp_path, conf=DELTA, jars=delta).wait(PATIENCE_S)

    done, ahead = dict.fromkeys(QUERIES, 1_000 * T0_S), [0]
    handed: dict[str, list[int]] = {name: [] for name in QUERIES}
    for name, event, times in json.loads((tmp_path / "told.json").read_text()):
        other = next(each for each in QUERIES if each != name)
        if event == "ends":
            handed[name] += times
            done[name] = times[-1]
        else:
            ahead.append(times[0] - done[other])
    assert all(len(set(times)) == len(times) == HOURS * ROWS for times in handed.values())
    assert max(ahead) <= HOUR_MS
