"""Forty mistakes and more, and the first line that each prints, beside the file that was read for
sense. `make mistakes` writes the file anew; look at its difference as a stranger would at night.
"""

import difflib
import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.mistakes.listed.catalogue import CATALOGUE
from tests.mistakes.listed.world import world

from lockgate_testbed.kafka import KafkaBroker

FILE = Path(__file__).with_name("mistakes.txt")


@pytest.fixture(scope="module", params=[2, pytest.param(None, marks=pytest.mark.long)], ids=["two of a kind", "all"])
def printed(
    spark: SparkSession, kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> list[str]:
    """The lines of the file as they are now; in the short run of the first two of each heading."""
    lines: list[str] = []
    with world(spark, kafka.bootstrap, tmp_path_factory.mktemp("mistakes")) as one:
        for heading, mistakes in CATALOGUE.items():
            lines += [f"# {heading}", ""]
            for code in list(mistakes)[: request.param]:
                lines += [code, f"    {one.first_line(code)}", ""]
    if os.environ.get("MISTAKES") == "write" and request.param is None:
        FILE.write_text("\n".join(lines), encoding="utf-8")
    return lines


def test_each_mistake_prints_what_the_file_says(printed: list[str], request: pytest.FixtureRequest) -> None:
    expected = FILE.read_text(encoding="utf-8").split("\n")
    changed = list(difflib.unified_diff(expected, printed, FILE.name, "printed", lineterm="", n=1))[2:]
    counts = "+-" if request.node.callspec.params["printed"] is None else "+"  # what a short run leaves out is no fault
    assert not [line for line in changed if line[0] in counts], "\n".join(changed)


def test_no_mistake_prints_a_traceback_or_a_word_of_py4j_first(printed: list[str]) -> None:
    for line in printed:
        for word in ("Traceback", "py4j", "An error occurred while calling", "  at "):
            assert word not in line


def test_there_are_forty_mistakes() -> None:
    assert sum(map(len, CATALOGUE.values())) >= 40
