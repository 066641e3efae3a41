"""The JSON of every message by its definition: there and back, and what is refused."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given

from lockgate.errors import InvalidMessage
from lockgate.watermark import MAX, MIN
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import GroupConfig, ReaderFacts, ReaderRegistrationEvent, ReportBatch, ReportedWatermarkEvent
from support.messages import KINDS, drawn

REPORT = {"subtask": 0, "epoch": 1, "watermark": 5}


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_comes_back_exactly_through_json_text(kind: type[Any]) -> None:
    @given(drawn(kind))
    def claim(message: object) -> None:
        assert from_json(kind, json.loads(json.dumps(to_json(message)))) == message

    claim()


def faults(kind: type[Any], body: object) -> dict[str, str]:
    with pytest.raises(InvalidMessage) as refused:
        from_json(kind, body)
    return dict(refused.value.faults)


def test_all_faults_of_a_message_are_named_at_once() -> None:
    body = {"subtask": -1, "watermark": "5", "idle": 0, "splits": {"p-0": {"watermark": 1.0, "state": "asleep"}}}
    found = faults(ReportedWatermarkEvent, body)
    assert list(found) == ["subtask", "epoch", "watermark", "idle", "splits.p-0.watermark", "splits.p-0.state"]
    assert found["epoch"] == "is missing"


@pytest.mark.parametrize("watermark", [True, None, 1.0, 1e3, "1", MAX + 1, MIN - 1, [], {}])
def test_a_time_is_an_integer_of_64_bits_and_nothing_else(watermark: object) -> None:
    assert "watermark" in faults(ReportedWatermarkEvent, REPORT | {"watermark": watermark})


@dataclass(frozen=True, slots=True)
class Timed:
    seconds: float
    since: float | None = 1.5


@pytest.mark.parametrize("seconds", [True, None, "1", []])
def test_a_length_of_time_is_a_number_and_nothing_else(seconds: object) -> None:
    assert "seconds" in faults(Timed, {"seconds": seconds})


def test_null_is_none_and_not_the_default() -> None:
    assert from_json(Timed, {"seconds": 1, "since": None}) == Timed(1, None)


@pytest.mark.parametrize("body", [None, [], "report", 3])
def test_message_that_is_no_object_is_refused_without_missing_fields(body: object) -> None:
    assert list(faults(ReportedWatermarkEvent, body)) == ["body"]


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ([], "facts"),
        ("late_rows", "facts"),
        ({"late_rows": -1}, "facts.late_rows"),
        ({"rows_saved": 1.0}, "facts.rows_saved"),
        ({"retained_until": MAX + 1}, "facts.retained_until"),
        ({"retention_split": "a/b"}, "facts.retention_split"),
        ({"retention_split": 7}, "facts.retention_split"),
        ({"producer_lag_ms": True}, "facts.producer_lag_ms"),
        ({"event_time_rate": 10**400}, "facts.event_time_rate"),
    ],
)
def test_a_fault_in_the_facts_of_a_report_is_named(facts: object, field: str) -> None:
    assert list(faults(ReportedWatermarkEvent, REPORT | {"facts": facts})) == [field]
    batch = {"reports": [{"source": "a", **REPORT, "facts": facts}]}
    assert list(faults(ReportBatch, batch)) == [f"reports[0].{field}"]


def test_an_unknown_fact_and_an_absent_one_are_no_fault() -> None:
    read = from_json(
        ReportedWatermarkEvent, REPORT | {"facts": {"weather": "rain", "event_time_rate": None, "late_rows": 3}}
    )
    assert read.facts == ReaderFacts(late_rows=3)


def test_unknown_fields_of_a_report_and_of_a_registration_are_ignored() -> None:
    assert from_json(ReportedWatermarkEvent, REPORT | {"colour": "red"}) == from_json(ReportedWatermarkEvent, REPORT)
    assert from_json(ReaderRegistrationEvent, {"subtask": 0, "colour": "red"}) == ReaderRegistrationEvent(subtask=0)


def test_unknown_configuration_field_is_refused_in_a_registration_too() -> None:
    assert list(faults(GroupConfig, {"max_drift": 30_000})) == ["max_drift"]
    assert list(faults(ReaderRegistrationEvent, {"subtask": 0, "config": {"max_drift": 30_000}})) == [
        "config.max_drift"
    ]


def test_a_configuration_names_every_value_that_is_out_of_range() -> None:
    body = {"max_drift_ms": -1, "lease_ms": 99, "update_interval_ms": True, "mode": "off", "expected_sources": ["a/b"]}
    assert list(faults(GroupConfig, body)) == [
        "max_drift_ms",
        "update_interval_ms",
        "lease_ms",
        "mode",
        "expected_sources[0]",
    ]


def test_text_that_utf8_cannot_carry_is_refused() -> None:
    assert list(faults(ReaderRegistrationEvent, {"subtask": 0, "owner": "\ud800"})) == ["owner"]
