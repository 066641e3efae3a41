"""The alignment's gauges in Spark's own metrics system, as two of its sinks have them, in an
application of their own.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from pyspark.sql import SparkSession

import support
from lockgate_spark import align
from lockgate_spark.jvm.spark_gauges import SparkGauges, metrics_system
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.skew import T0_MS
from support.drivers import Driver, Order
from support.queries import PATIENCE_S, kafka_stream

METERED = Path(support.__path__[0]) / "metered_driver.py"
LAST = T0_MS + 99 * 1_000


@pytest.fixture(scope="module")
def told(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The metrics of the application, by the moment."""
    topics.create(kafka.bootstrap, "metered", 1)
    topics.produce(kafka.bootstrap, "metered", [(0, T0_MS + n * 1_000, None, b"x") for n in range(100)])
    with CoordinatorProcess() as coordinator:
        group = f"{coordinator.url}/v1/groups/g"
        httpx.put(group, json={"update_interval_ms": 100, "expected_sources": ["never"]}).raise_for_status()
        member = {"url": coordinator.url, "group": "g", "timeout": "1 minute"}
        order = Order("metered", kafka.bootstrap, "metered", 1, str(tmp_path_factory.mktemp("metered")), member)
        driver = Driver(order, METERED)
        try:
            driver.await_line("held ")
            httpx.put(group, json={"update_interval_ms": 100}).raise_for_status()
            driver.finish()
        finally:
            driver.kill()
    lines = [line.partition(" ") for line in driver.said]
    return {moment: json.loads(found) for moment, _, found in lines if moment in ("held", "batch", "ended")}


@pytest.mark.long
def test_a_query_that_the_group_stops_says_so_and_for_how_long(told: dict[str, Any]) -> None:
    held = told["held"]["csv"]["orders"]
    assert [held[name] for name in ("blockedByGroup", "pausedPartitions", "coordinatorAway", "watermarkMs")] == [
        "1",
        "1",
        "0",
        str(T0_MS - 1),
    ]
    assert int(held["pausedMs"]) > 0


@pytest.mark.long
def test_an_unknown_value_is_no_gauge(told: dict[str, Any]) -> None:
    assert not {"groupWatermarkMs", "driftMs", "readLimitMs"} & told["held"]["csv"]["orders"].keys(), (
        "nobody has reported to the group"
    )
    assert {"groupWatermarkMs", "driftMs", "readLimitMs"} <= told["batch"]["csv"]["orders"].keys()


@pytest.mark.long
def test_in_a_batch_the_gauges_are_those_of_its_plan(told: dict[str, Any]) -> None:
    batch = told["batch"]
    assert batch["target"] >= LAST
    found = batch["csv"]["orders"]
    assert [found[name] for name in ("targetMs", "blockedByGroup", "pausedPartitions", "pausedMs")] == [
        str(batch["target"]),
        "0",
        "0",
        "0",
    ]
    assert [found[name] for name in ("groupWatermarkMs", "driftMs")] == [str(T0_MS - 1), "0"]
    assert int(found["planMs"]) >= 0
    assert int(found["lookUps"]) >= 0


@pytest.mark.long
def test_prometheus_has_the_same_as_numbers_that_it_can_read(told: dict[str, Any]) -> None:
    of_orders = {name: value for name, value in told["batch"]["prometheus"].items() if "_orders_alignment_" in name}
    assert of_orders["metrics_app_driver_lockgate_orders_alignment_targetMs_Value"] == str(told["batch"]["target"])
    assert {name.split("_")[-2] for name in of_orders} == told["batch"]["csv"]["orders"].keys()
    assert all(math.isnan(float(value)) or float(value) == int(value) for value in of_orders.values())


@pytest.mark.long
def test_the_end_of_a_query_takes_its_gauges_away_and_no_other_one_s(told: dict[str, Any]) -> None:
    assert told["ended"]["csv"].keys() == {"orders-2"}
    assert told["ended"]["csv"]["orders-2"]["lateRowsTotal"] == "0"
    assert {name.split("_alignment_")[0] for name in told["ended"]["prometheus"]} == {
        "metrics_app_driver_lockgate_orders_2"
    }


# -- the source alone, in the tests' own application --


@dataclass
class Run:
    """The part of a `QueryRun` that the gauges use."""

    name: str | None
    query_id: str = "the-id"
    active: bool = True

    def is_active(self) -> bool:
        return self.active


def gauges_of(spark: SparkSession, run: Run) -> SparkGauges:
    return SparkGauges(run, spark._jvm)  # type: ignore[arg-type]


@pytest.fixture
def registered(spark: SparkSession) -> Callable[[str], dict[str, str]]:
    """The values of a source's gauges that the metrics system has."""
    jvm: Any = spark._jvm

    def values(name: str) -> dict[str, str]:
        sources = metrics_system(jvm).getSourcesByName(name)
        found = [sources.apply(i).metricRegistry().getGauges() for i in range(sources.size())]
        return {key: str(of_source[key].getValue()) for of_source in found for key in of_source}

    return values


def test_a_value_that_is_no_longer_known_is_nan(
    spark: SparkSession, registered: Callable[[str], dict[str, str]]
) -> None:
    shown = gauges_of(spark, Run("nan"))
    shown.show({"targetMs": 5, "readLimitMs": None})
    assert registered("lockgate.nan.alignment") == {"targetMs": "5"}
    shown.show({"targetMs": None})
    assert registered("lockgate.nan.alignment") == {"targetMs": "nan"}
    shown.close()
    assert registered("lockgate.nan.alignment") == {}


def test_a_query_without_a_name_goes_by_its_id(
    spark: SparkSession, registered: Callable[[str], dict[str, str]]
) -> None:
    shown = gauges_of(spark, Run(None))
    shown.show({"planMs": 1})
    assert registered("lockgate.the-id.alignment") == {"planMs": "1"}
    shown.close()


def test_a_metrics_system_that_refuses_costs_a_running_query_one_warning(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    first, run = gauges_of(spark, Run("twice")), Run("twice", active=False)
    second = gauges_of(spark, run)
    first.show({"planMs": 1, "lookUps": 1, "leftOut": 1})
    second.show({"planMs": 1})
    assert refusals(caplog) == 0, "it was told to stop, and what fails then is no refusal"
    run.active = True
    second.show({"lookUps": 1})
    second.show({"leftOut": 1})
    for each in (first, second):
        each.close()
    assert refusals(caplog) == 1


def refusals(caplog: pytest.LogCaptureFixture) -> int:
    """How often gauges were refused. Threads of other tests may log other lines meanwhile."""
    return sum("rejected lockgate's gauges" in said for said in caplog.messages)


@pytest.mark.long
def test_without_spark_s_own_switch_there_are_no_gauges(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path, registered: Callable[[str], dict[str, str]]
) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0_MS, None, b"x")])
    seen: list[dict[str, str]] = []
    stream = align(kafka_stream(spark, kafka.bootstrap, topic)).writeStream.queryName("unmetered")
    writer = stream.foreachBatch(lambda *_: seen.append(registered("lockgate.unmetered.alignment")))
    assert (
        writer.option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
        .awaitTermination(PATIENCE_S)
    )
    assert seen == [{}]
