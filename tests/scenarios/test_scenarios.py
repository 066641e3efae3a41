"""Scenarios that seeds draw, each played natively and aligned over a real Kafka, and judged against
the truth (docs/internals/scenarios.md).

`LOCKGATE_SCENARIOS` (default 40) of them from seed `LOCKGATE_SCENARIO_SEED` (default 0) on, each a
test of its own. The verdicts are appended to `LOCKGATE_SCENARIO_RESULTS` (default
build/scenarios/results.jsonl), a line each.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from seeded.drawing import draw
from seeded.playing import Brokers, Plant
from seeded.results import RESULTS, append, code, line
from seeded.scenario import ADVERSE, FIRST_ADVERSE_SEED, PLAIN

from lockgate_testbed.kafka import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = int(os.environ.get("LOCKGATE_SCENARIOS", "40"))
FIRST_SEED = int(os.environ.get("LOCKGATE_SCENARIO_SEED", "0"))
OUT = Path(os.environ.get("LOCKGATE_SCENARIO_RESULTS", str(RESULTS)))
SMOKE = (*range(len(PLAIN)), *range(FIRST_ADVERSE_SEED, FIRST_ADVERSE_SEED + len(ADVERSE)))  # one of each class


@pytest.fixture(scope="module")
def here(spark: "SparkSession", kafka: KafkaBroker) -> Iterator[Plant]:
    """Where scenarios are played."""
    with ExitStack() as stack:
        yield Plant(spark, Brokers(stack, kafka.bootstrap))


@pytest.mark.long
@pytest.mark.parametrize("seed", SMOKE)
def test_one_of_each_class_holds(here: Plant, seed: int) -> None:
    verdict = here.verdict(draw(seed))
    assert verdict.passed, line(verdict)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + COUNT))
def test_a_scenario_that_a_seed_draws_is_exact_within_the_promise_and_fresh(here: Plant, seed: int) -> None:
    verdict = here.verdict(draw(seed), code())
    append(verdict, OUT)
    print(line(verdict), flush=True)
    assert verdict.passed, line(verdict)
