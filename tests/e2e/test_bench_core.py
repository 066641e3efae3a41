"""The benchmark runs and says what it measured; the figures themselves are `make bench-core`'s."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "more" / "core.py"


@pytest.mark.long
def test_the_benchmark_measures_both_layouts_and_every_size() -> None:
    arguments = ["--events", "6400000", "--updates", "1000", "--json"]
    done = subprocess.run([sys.executable, str(BENCHMARK), *arguments], capture_output=True, text=True, check=False)
    figures = json.loads(done.stdout)
    # 3.2 s of rows: 15 watermarks; in turn the last split speaks after 0.35 s, and until then it
    # holds the first one.
    assert [(each["layout"], each["events"], each["watermarks"]) for each in figures["columns"]] == [
        ("interleaved", 6_400_000, 15),
        ("in turn", 6_400_000, 14),
    ]
    assert all(each["events_per_second"] > 0 for each in figures["columns"])
    assert [each["channels"] for each in figures["updates"]] == [10, 1_000, 100_000] * 2
