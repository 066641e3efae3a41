"""Flink's alignment is measured: the figures themselves are `make bench-flink`'s."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import CHECKOUT


@pytest.mark.long
def test_the_benchmark_runs_flink_with_and_without_alignment(tmp_path: Path) -> None:
    options = ["--rounds", "1", "--records", "20000", "--rate", "8000", "--drift-minutes", "60", "--buffers", "0"]
    command = [sys.executable, "-m", "benchmarks.flink", *options, "--out", str(tmp_path)]
    subprocess.run(command, cwd=CHECKOUT, check=True)
    without, aligned = json.loads((tmp_path / "flink.json").read_text())
    assert without["seconds"] > 5  # by the rate of the slower source alone
    assert without["apart_ms"] > 11 * 3_600_000 > aligned["apart_ms"]
    assert aligned["beyond"] < 1
    assert aligned["setting"] == {"drift_ms": 3_600_000, "buffer": 0}
