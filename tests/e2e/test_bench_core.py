"""The benchmark runs and says what it measured; the figures themselves are `make bench-core`'s."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "more" / "core.py"


@pytest.mark.long
def test_the_benchmark_measures_every_size() -> None:
    arguments = ["--updates", "1000", "--json"]
    done = subprocess.run([sys.executable, str(BENCHMARK), *arguments], capture_output=True, text=True, check=False)
    assert [each["channels"] for each in json.loads(done.stdout)] == [10, 1_000, 100_000] * 2
