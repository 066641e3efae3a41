"""The benchmark runs, small, and says what it claims to say; its figures are nobody's here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.imports import CHECKOUT

FROM_CHECKOUT = {**os.environ, "PYTHONPATH": str(CHECKOUT)}


@pytest.mark.long
@pytest.mark.redis
def test_the_benchmark_writes_medians_and_spreads_of_each_part(tmp_path: Path, redis_server: object) -> None:
    arguments = ["reports", "batch", "streams", "--rounds", "1", "--seconds", "0.2", "--subscribers", "20"]
    command = [sys.executable, "-m", "benchmarks.coordinator", *arguments]
    done = subprocess.run(
        command, cwd=tmp_path, env=FROM_CHECKOUT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "build/bench/coordinator.json").read_text())["measured"]
    for ratio in (
        found["reports"]["memory_to_bare"],
        found["batch"]["memory_to_json"],
        found["streams"]["service_to_loop"],
    ):
        assert 0 < ratio["least"] <= ratio["median"] <= ratio["most"]
