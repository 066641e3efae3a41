import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidMessage
from lockgate.watermark import MAX, MIN
from lockgate.wire import codec
from lockgate.wire.events import (
    NAME,
    Blocker,
    GroupConfig,
    ProgressEvent,
    ReaderFacts,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
    SourcePause,
    SplitProgress,
    SplitReport,
    SplitState,
    WatermarkAlignmentEvent,
)

times = st.integers(MIN, MAX)
counts = st.integers(0, MAX)
names = st.from_regex(r"[A-Za-z0-9._:-]{1,255}", fullmatch=True).filter(NAME.match)
maybe_counts = st.none() | counts
splits = st.builds(
    SplitReport,
    watermark=times,
    state=st.sampled_from(SplitState),
    position=maybe_counts,
    end=maybe_counts,
    rows=maybe_counts,
)
facts = st.builds(
    ReaderFacts,
    late_rows=maybe_counts,
    rows_saved=maybe_counts,
    retained_until=maybe_counts,
    retention_split=st.none() | names,
    producer_lag_ms=maybe_counts,
    event_time_rate=maybe_counts,
)
configs = st.builds(
    GroupConfig,
    max_drift_ms=counts,
    lease_ms=st.integers(100, MAX),
    expected_sources=st.lists(names, max_size=3, unique=True).map(tuple),
)
reports = st.builds(
    ReportedWatermarkEvent,
    subtask=counts,
    epoch=st.integers(1, MAX),
    watermark=times,
    idle=st.booleans(),
    finished=st.booleans(),
    reach=st.none() | times,
    batch_id=maybe_counts,
    park_ms=st.none() | st.integers(1, MAX),
    facts=st.none() | facts,
    splits=st.dictionaries(names, splits, max_size=3),
)
registrations = st.builds(
    ReaderRegistrationEvent,
    subtask=counts,
    owner=st.text(st.characters(codec="utf-8")),
    takeover=st.booleans(),
    config=st.none() | configs,
    ceiling=st.none() | times,
)
split_progress = st.builds(SplitProgress, watermark=times, position=counts, rows=counts)
progress = st.builds(
    ProgressEvent,
    subtask=counts,
    epoch=st.integers(1, MAX),
    batch_id=counts,
    attempt=counts,
    splits=st.dictionaries(names, split_progress, max_size=3),
)
blocked_by = st.builds(Blocker, source=names, subtask=counts, watermark=times, split=st.none() | names)
pauses = st.builds(SourcePause, source=names, at=times, by=st.none() | names, reason=names | st.just(""))
alignments = st.builds(
    WatermarkAlignmentEvent,
    group=names,
    revision=counts,
    group_watermark=times,
    max_desired_watermark=times,
    blocked_by=st.lists(blocked_by, max_size=3).map(tuple),
    would_be=st.none() | times,
    config_version=st.none() | counts,
    paused_sources=st.lists(pauses, max_size=3).map(tuple),
)
answers = st.builds(
    RegistrationAnswer,
    subtask=counts,
    epoch=st.integers(1, MAX),
    lease_ms=st.integers(100, MAX),
    update_interval_ms=st.integers(10, MAX),
    alignment=alignments,
)

PAIRS: list[tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = [
    (configs, codec.config_to_json, codec.config_from_json),
    (reports, codec.report_to_json, codec.report_from_json),
    (registrations, codec.registration_to_json, codec.registration_from_json),
    (progress, codec.progress_to_json, codec.progress_from_json),
    (alignments, codec.alignment_to_json, codec.alignment_from_json),
    (answers, codec.answer_to_json, codec.answer_from_json),
]

REPORT = {"subtask": 0, "epoch": 1, "watermark": 5}


@pytest.mark.parametrize(("events", "out", "back"), PAIRS)
def test_a_message_comes_back_exactly_through_json_text(
    events: st.SearchStrategy[Any], out: Callable[[Any], Any], back: Callable[[Any], Any]
) -> None:
    @given(events)
    def claim(event: object) -> None:
        assert back(json.loads(json.dumps(out(event)))) == event

    claim()


def faults(parse: Callable[[object], object], body: object) -> dict[str, str]:
    with pytest.raises(InvalidMessage) as refused:
        parse(body)
    return dict(refused.value.faults)


def test_all_faults_of_a_message_are_named_at_once() -> None:
    body = {"subtask": -1, "watermark": "5", "idle": 0, "splits": {"p-0": {"watermark": 1.0, "state": "asleep"}}}
    found = faults(codec.report_from_json, body)
    assert list(found) == ["subtask", "epoch", "watermark", "idle", "splits.p-0.watermark", "splits.p-0.state"]
    assert found["epoch"] == "is missing"


@pytest.mark.parametrize("watermark", [True, None, 1.0, 1e3, "1", MAX + 1, MIN - 1, [], {}])
def test_a_time_is_an_integer_of_64_bits_and_nothing_else(watermark: object) -> None:
    assert "watermark" in faults(codec.report_from_json, REPORT | {"watermark": watermark})


@pytest.mark.parametrize("body", [None, [], "report", 3])
def test_a_message_that_is_no_object_is_refused_without_a_list_of_missing_fields(body: object) -> None:
    assert list(faults(codec.report_from_json, body)) == ["body"]


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
    assert list(faults(codec.report_from_json, REPORT | {"facts": facts})) == [field]
    found = codec.reports_from_json({"reports": [{"source": "a", **REPORT, "facts": facts}]})[0]
    assert isinstance(found, InvalidMessage)
    assert [name for name, _ in found.faults] == [field]


def test_an_unknown_fact_and_an_absent_one_are_no_fault() -> None:
    read = codec.report_from_json(REPORT | {"facts": {"weather": "rain", "event_time_rate": None, "late_rows": 3}})
    assert read.facts == ReaderFacts(late_rows=3)


def test_unknown_fields_of_a_report_and_of_a_registration_are_ignored() -> None:
    assert codec.report_from_json(REPORT | {"colour": "red"}) == codec.report_from_json(REPORT)
    assert codec.registration_from_json({"subtask": 0, "colour": "red"}) == ReaderRegistrationEvent(subtask=0)


def test_an_unknown_field_of_a_configuration_is_refused_also_inside_a_registration() -> None:
    assert list(faults(codec.config_from_json, {"max_drift": 30_000})) == ["max_drift"]
    assert list(faults(codec.registration_from_json, {"subtask": 0, "config": {"max_drift": 30_000}})) == [
        "config.max_drift"
    ]


def test_a_configuration_names_every_value_that_is_out_of_range() -> None:
    body = {"max_drift_ms": -1, "lease_ms": 99, "update_interval_ms": True, "mode": "off", "expected_sources": ["a/b"]}
    assert list(faults(codec.config_from_json, body)) == [
        "max_drift_ms",
        "update_interval_ms",
        "lease_ms",
        "mode",
        "expected_sources[0]",
    ]


def test_each_report_of_a_batch_is_judged_alone() -> None:
    good, bad = codec.reports_from_json({"reports": [{"source": "orders", **REPORT}, {"source": "a/b", "subtask": 0}]})
    assert good == ("orders", ReportedWatermarkEvent(subtask=0, epoch=1, watermark=5))
    assert isinstance(bad, InvalidMessage)
    assert [field for field, _ in bad.faults] == ["source", "epoch", "watermark"]


def test_a_batch_of_more_than_ten_thousand_reports_is_refused_and_one_of_ten_thousand_is_not() -> None:
    assert len(codec.reports_from_json({"reports": [0] * 10_000})) == 10_000
    assert list(faults(codec.reports_from_json, {"reports": [0] * 10_001})) == ["reports"]


def test_a_batch_comes_back_as_it_was_written() -> None:
    batch = [
        ("orders", ReportedWatermarkEvent(subtask=1, epoch=2, watermark=MAX)),
        ("pay", ReportedWatermarkEvent(subtask=0, epoch=1, watermark=MIN)),
    ]
    assert codec.reports_from_json(codec.reports_to_json(batch)) == batch


def test_text_that_utf8_cannot_carry_is_refused() -> None:
    assert list(faults(codec.registration_from_json, {"subtask": 0, "owner": "\ud800"})) == ["owner"]
