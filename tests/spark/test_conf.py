"""Every option of alignment by Spark's conf."""

import re
from collections.abc import Iterator
from dataclasses import fields

import pytest
from pyspark.sql import SparkSession

from lockgate_spark import Alignment, ConfigurationError, Coordinator
from lockgate_spark.conf import configured, enabled

URL = "http://127.0.0.1:8080"
GROUP = {"spark.lockgate.coordinator.url": URL, "spark.lockgate.coordinator.group": "g"}


OPTIONS = {
    "maxDrift": "7 minutes",
    "idleTimeout": "2 hours",
    "maxLag": "3 hours",
    "maxOutOfOrderness": "3 seconds",
    "futureBound": "2 days",
    "pastBound": "30 days",
    "maxWait": "1 hour",
    "slice": "1 hour",
    "sliceZone": "Asia/Kolkata",
    "mode": "observe",
    "eventTime": "cast(key AS TIMESTAMP)",
    "otherEventTime": "warn",
    "lateRows": "keep",
    "lateRowsPath": "/var/late",
    "lateRowsTopic": "late",
    "report": "/var/reports",
}
OF_COORDINATOR = {
    "url": "https://coordinator",
    "group": "g",
    "source": "orders",
    "catchUp": "strict",
    "token": "hunter2",
    "ca": "/etc/ca.pem",
    "cert": "/etc/job.pem",
    "key": "/etc/job.key",
    "timeout": "3 seconds",
    "onOutage": "proceed",
    "holdFor": "9 minutes",
    "maxBatch": "1 hour",
    "park": "1 day",
    "newGroup": "refuse",
}


def test_every_field_has_its_key_in_camel_case() -> None:
    of_group = {f"coordinator.{key}": value for key, value in OF_COORDINATOR.items()}
    made = configured(Alignment(), {f"spark.lockgate.{key}": value for key, value in (OPTIONS | of_group).items()})
    for of, keys, unset in ((made, OPTIONS, {"coordinator"}), (made.coordinator, OF_COORDINATOR, {"_", "token_file"})):
        names = {re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key): key for key in keys}
        assert {name: getattr(of, name) for name in names} == {name: keys[key] for name, key in names.items()}
        assert {field.name for field in fields(of)} - unset == names.keys()  # type: ignore[arg-type]


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
