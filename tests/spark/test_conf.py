"""Every option of alignment by Spark's conf."""

from collections.abc import Iterator
from dataclasses import fields

import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, ConfigurationError, Coordinator
from lockgate_spark.conf import configured, enabled

URL = "http://127.0.0.1:8080"
GROUP = {"spark.lockgate.coordinator.url": URL, "spark.lockgate.coordinator.group": "g"}


def test_every_field_has_its_key_in_camel_case() -> None:
    conf = {
        "spark.lockgate.maxDrift": "7 minutes",
        "spark.lockgate.idleTimeout": "2 hours",
        "spark.lockgate.maxLag": "3 hours",
        "spark.lockgate.maxOutOfOrderness": "3 seconds",
        "spark.lockgate.futureBound": "2 days",
        "spark.lockgate.pastBound": "30 days",
        "spark.lockgate.maxWait": "1 hour",
        "spark.lockgate.slice": "1 hour",
        "spark.lockgate.sliceZone": "Asia/Kolkata",
        "spark.lockgate.mode": "observe",
        "spark.lockgate.eventTime": "cast(key AS TIMESTAMP)",
        "spark.lockgate.otherEventTime": "warn",
        "spark.lockgate.lateRows": "keep",
        "spark.lockgate.lateRowsPath": "/var/late",
        "spark.lockgate.lateRowsTopic": "late",
        "spark.lockgate.report": "/var/reports",
        "spark.lockgate.coordinator.url": "https://coordinator",
        "spark.lockgate.coordinator.group": "g",
        "spark.lockgate.coordinator.source": "orders",
        "spark.lockgate.coordinator.catchUp": "strict",
        "spark.lockgate.coordinator.token": "hunter2",
        "spark.lockgate.coordinator.ca": "/etc/ca.pem",
        "spark.lockgate.coordinator.cert": "/etc/job.pem",
        "spark.lockgate.coordinator.key": "/etc/job.key",
        "spark.lockgate.coordinator.timeout": "3 seconds",
        "spark.lockgate.coordinator.onOutage": "proceed",
        "spark.lockgate.coordinator.holdFor": "9 minutes",
        "spark.lockgate.coordinator.maxBatch": "1 hour",
        "spark.lockgate.coordinator.park": "1 day",
        "spark.lockgate.coordinator.newGroup": "refuse",
    }
    made = configured(Alignment(), conf)
    assert made == Alignment(
        max_drift="7 minutes",
        idle_timeout="2 hours",
        max_lag="3 hours",
        max_out_of_orderness="3 seconds",
        future_bound="2 days",
        past_bound="30 days",
        max_wait="1 hour",
        slice="1 hour",
        slice_zone="Asia/Kolkata",
        mode="observe",
        event_time="cast(key AS TIMESTAMP)",
        other_event_time="warn",
        late_rows="keep",
        late_rows_path="/var/late",
        late_rows_topic="late",
        report="/var/reports",
        coordinator=Coordinator(
            "https://coordinator",
            group="g",
            source="orders",
            catch_up="strict",
            token="hunter2",
            ca="/etc/ca.pem",
            cert="/etc/job.pem",
            key="/etc/job.key",
            timeout="3 seconds",
            on_outage="proceed",
            hold_for="9 minutes",
            max_batch="1 hour",
            park="1 day",
            new_group="refuse",
        ),
    )
    named = {field.name for of in (Alignment, Coordinator) for field in fields(of)} - {"_", "coordinator"}
    assert len(conf) == len(named - {"token_file"})


def test_a_token_has_its_key_as_a_file_too() -> None:
    conf = {"spark.lockgate.coordinator.url": URL, "spark.lockgate.coordinator.group": "g"}
    made = configured(Alignment(), {**conf, "spark.lockgate.coordinator.tokenFile": "/etc/token"})
    assert made.coordinator == Coordinator(URL, group="g", token_file="/etc/token")


def test_the_conf_wins_over_the_code_and_what_it_does_not_name_stays() -> None:
    code = Alignment(
        max_drift="1 minute", max_out_of_orderness="1 second", coordinator=Coordinator(URL, group="g", source="orders")
    )
    made = configured(code, {"spark.lockgate.maxDrift": "2 minutes", "spark.lockgate.coordinator.group": "other"})
    assert made == Alignment(
        max_drift="2 minutes",
        max_out_of_orderness="1 second",
        coordinator=Coordinator(URL, group="other", source="orders"),
    )
    assert configured(code, {"spark.sql.shuffle.partitions": "4"}) == code


def test_none_stands_for_none() -> None:
    assert configured(Alignment(), {"spark.lockgate.futureBound": "none"}).future_bound is None


@pytest.mark.parametrize(("conf", "says"), [
    ({"spark.lockgate.maxDrift": "soon"}, r"soon.*spark\.lockgate\.maxDrift"),
    ({"spark.lockgate.mode": "dry"}, r"dry.*spark\.lockgate\.mode"),
    ({"spark.lockgate.coordinator.url": URL}, r"spark\.lockgate\.coordinator\.group: not set"),
    ({**GROUP, "spark.lockgate.coordinator.catchUp": "eager"}, r"eager.*spark\.lockgate\.coordinator\.catchUp"),
])  # fmt: skip
def test_a_value_that_cannot_work_is_refused_with_its_key(conf: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        configured(Alignment(), conf)


def test_a_token_shows_in_no_error() -> None:
    with pytest.raises(ConfigurationError) as caught:
        configured(Alignment(), {**GROUP, "spark.lockgate.coordinator.token": "hunter2 ü"})
    assert "hunter2" not in str(caught.value)
    assert "spark.lockgate.coordinator.token" in str(caught.value)


def test_an_unknown_key_is_warned_of_with_the_near_ones(caplog: pytest.LogCaptureFixture) -> None:
    configured(
        Alignment(),
        {"spark.lockgate.maxdrift": "1 s", "spark.lockgate.coordinator.tokn": "x", "spark.lockgate.zzz": "1"},
    )
    assert "spark.lockgate.maxdrift is unknown and has no effect; did you mean spark.lockgate.maxDrift?" in caplog.text
    assert "did you mean spark.lockgate.coordinator.token?" in caplog.text
    assert "spark.lockgate.zzz is unknown and has no effect; the known names are spark.lockgate.enabled" in caplog.text


def test_the_switch_is_true_or_false() -> None:
    assert [
        enabled(conf) for conf in ({}, {"spark.lockgate.enabled": "TRUE"}, {"spark.lockgate.enabled": "false"})
    ] == [True, True, False]
    with pytest.raises(ConfigurationError, match=r"spark\.lockgate\.enabled=off"):
        enabled({"spark.lockgate.enabled": "off"})


@pytest.fixture
def with_token(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set("spark.lockgate.coordinator.token", "hunter2")
    yield spark
    spark.conf.unset("spark.lockgate.coordinator.token")


def test_spark_redacts_the_token_where_it_shows_its_conf(with_token: SparkSession) -> None:
    assert with_token.conf.getAll["spark.lockgate.coordinator.token"] == "hunter2"
    shown = {row["key"]: row["value"] for row in with_token.sql("SET").collect()}
    assert "redacted" in shown["spark.lockgate.coordinator.token"]
