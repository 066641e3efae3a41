"""A driver that stops its context, with a query in it, and makes another one."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import SkewedTopic
from lockgate_testbed.spark_programs import submit

pytestmark = pytest.mark.long

PATIENCE_S = 400.0


def test_each_context_of_a_driver_has_its_own_host(
    beside_the_jar: Callable[[str], list[str]],
    server_jar: Path,
    kafka: KafkaBroker,
    skewed: SkewedTopic,
    tmp_path: Path,
) -> None:
    classes = beside_the_jar("ContextsInTurn")[-2].split(":")[0]
    pythons = [started_by(tmp_path / name) for name in ("first", "second")]
    program = ("--class", "io.lockgate.spark.ContextsInTurn", "spark-internal", tmp_path, kafka.bootstrap, skewed.name)
    running = submit("contexts", tmp_path / "log", *program, *pythons, jars=[server_jar, Path(classes)])

    said = running.wait(PATIENCE_S)

    assert said.count(f"context {sum(skewed.counts())} true") == 2
    assert said.count("query the SparkContext of this stream was stopped") == 2
    first, second = (python.with_suffix(".started").read_text().split() for python in pythons)
    assert (len(first), len(second)) == (1, 1)


def started_by(python: Path) -> Path:
    """A Python that keeps account of its starts."""
    python.write_text(f'#!/bin/sh\necho $$ >> {python}.started\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return python
