"""Scenarios that seeds draw, each played natively and aligned over a real Kafka, and judged against
the truth (docs/scenarios.md).

`LOCKGATE_SCENARIOS` (default 40) of them from seed `LOCKGATE_SCENARIO_SEED` (default 0) on, each a
test of its own. The verdicts are appended to `LOCKGATE_SCENARIO_RESULTS` (default
build/scenarios/results.jsonl), a line each.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from seeded.drawing import draw
from seeded.playing import Plant
from seeded.results import RESULTS, append, code, line
from seeded.scenario import Kind

from lockgate_testbed.kafka import KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = int(os.environ.get("LOCKGATE_SCENARIOS", "40"))
FIRST_SEED = int(os.environ.get("LOCKGATE_SCENARIO_SEED", "0"))
OUT = Path(os.environ.get("LOCKGATE_SCENARIO_RESULTS", str(RESULTS)))
SMOKE = range(len(Kind))  # one of each class


@pytest.fixture(scope="module")
def here(spark: "SparkSession", kafka: KafkaBroker) -> Plant:
    """Where scenarios are played."""
    return Plant(spark, kafka.bootstrap)


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
