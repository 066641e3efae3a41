"""Flink beside Spark and lockgate, small: the figures themselves are `make bench-flink`'s."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.flink.account import LOCKGATE, LONGER, PLAIN, SYSTEMS

from support.imports import CHECKOUT

WORKLOADS = ("late start",)


@pytest.mark.long
def test_all_systems_are_counted_against_what_was_produced(tmp_path: Path) -> None:
    options = ["--records", "20000", "--batches", "4", "--workloads", *WORKLOADS]
    command = [sys.executable, "-m", "benchmarks.flink", *options, "--out", str(tmp_path)]
    subprocess.run(command, cwd=CHECKOUT, check=True)
    runs = [json.loads(line) for line in (tmp_path / "outcomes.jsonl").read_text().splitlines()]
    by_way = {(run["workload"], run["system"]): run for run in runs}
    assert {system for _, system in by_way} >= {*SYSTEMS} - {LONGER}
    for workload in WORKLOADS:
        assert by_way[workload, LOCKGATE]["drift_ms"] == 0
        assert by_way[workload, PLAIN]["lost"] == 0 or (workload, LONGER) in by_way
    assert not [run for run in runs if run["system"] != PLAIN and run["lost"] != 0]
    assert (tmp_path / "flink.md").read_text().count("\n") == 2 + len(runs)
