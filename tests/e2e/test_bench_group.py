"""The benchmark of groups runs, small, and its claim about ceilings is true. The figures themselves
are `make bench-group`'s.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate_testbed.kafka import KafkaBroker
from support.imports import CHECKOUT


@pytest.mark.long
def test_a_small_run_drains_two_applications_and_eight_queries_without_a_plan_above_the_ceiling(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    arguments = ["--records", "4000", "--seconds", "3", "--ways", "joint", "--limit", "20", "--out", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.more.group", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=900)
    if done.returncode:
        pytest.fail(f"{done.stdout}\n{done.stderr}", pytrace=False)
    outcomes = json.loads((tmp_path / "group.json").read_text())["measured"]
    assert [(each["size"], each["way"], len(each["drains"])) for each in outcomes] == [(2, "joint", 2), (8, "joint", 8)]
    for each in outcomes:
        assert (each["above_told"], each["above_announced"]) == (0, 0)
        assert each["planned"] > 0
        assert sum(drain["hours"] for drain in each["drains"]) > 0
    assert "| 8 | joint |" in (tmp_path / "group.md").read_text()
    assert "8 queries" in (tmp_path / "group.html").read_text()
