"""Flink beside Spark and lockgate, small: the figures themselves are `make bench-flink`'s."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import CHECKOUT

WORKLOADS = ("late start", "one slow topic of a join")


@pytest.mark.long
def test_all_systems_are_counted_against_what_was_produced(tmp_path: Path) -> None:
    options = ["--records", "20000", "--batches", "6", "--workloads", *WORKLOADS]
    command = [sys.executable, "-m", "benchmarks.flink", *options, "--out", str(tmp_path)]
    subprocess.run(command, cwd=CHECKOUT, check=True)
    runs = [json.loads(line) for line in (tmp_path / "outcomes.jsonl").read_text().splitlines()]
    by_way = {(run["workload"], run["system"]): run for run in runs}
    assert len(by_way) == 6 * len(WORKLOADS)
    for workload in WORKLOADS:
        assert by_way[workload, "plain Spark"]["lost"] > 0
        assert by_way[workload, "lockgate"]["drift_ms"] == 0
    assert not [run for run in runs if run["system"] != "plain Spark" and run["lost"]]
    assert (tmp_path / "table.md").read_text().count("\n") == 2 + 7 * len(WORKLOADS)
