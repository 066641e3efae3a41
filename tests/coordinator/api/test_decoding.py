"""The compiled decoder may leave any body to the codec, but must never decode one differently."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.errors import InvalidMessage
from lockgate.steps import at_once
from lockgate.watermark import MAX, MIN
from lockgate.wire.codec import BATCH_LIMIT, report_from_json, report_to_json, reports_from_json, reports_to_json
from lockgate.wire.events import NAME, ReaderFacts, ReportedWatermarkEvent, SplitReport, SplitState
from lockgate_coordinator.api import decoding
from lockgate_coordinator.api.decoding import report_from_bytes
from support.examples import examples


def reports_from_bytes(body: bytes) -> list[tuple[str, ReportedWatermarkEvent]] | None:
    return at_once(decoding.reports_from_bytes(body))


EDGES = st.sampled_from([MIN, MIN - 1, -1, 0, 1, 2**53 + 1, MAX, MAX + 1, 2**70])
scalars = (
    st.none()
    | st.booleans()
    | EDGES
    | st.integers()
    | st.sampled_from([1.0, 1e3, 0.5, "", "a", "1", "\ud800", "a/b", []])
)
splits = st.dictionaries(
    st.sampled_from(["t-0", "t-1", "", "a/b", "é", "a" * 256]),
    scalars
    | st.dictionaries(
        st.sampled_from(["watermark", "state", "position", "end", "rows", "x"]), scalars | st.sampled_from(SplitState)
    ),
    max_size=2,
)
facts = st.dictionaries(
    st.sampled_from(
        ["late_rows", "rows_saved", "retained_until", "retention_split", "producer_lag_ms", "event_time_rate", "x"]
    ),
    scalars,
    max_size=3,
)
bodies = st.fixed_dictionaries(
    {"subtask": EDGES, "epoch": EDGES, "watermark": EDGES},
    optional={
        **dict.fromkeys(("idle", "finished", "reach", "batch_id", "park_ms", "other"), scalars),
        "splits": scalars | splits,
        "facts": scalars | facts,
    },
)
maybe_counts = st.none() | st.integers(0, MAX)
valid = st.builds(
    ReportedWatermarkEvent,
    subtask=st.integers(0, MAX),
    epoch=st.integers(1, MAX),
    watermark=st.integers(MIN, MAX),
    idle=st.booleans(),
    finished=st.booleans(),
    reach=st.none() | st.integers(MIN, MAX),
    batch_id=st.none() | st.integers(0, MAX),
    park_ms=st.none() | st.integers(1, MAX),
    facts=st.none()
    | st.builds(
        ReaderFacts,
        late_rows=maybe_counts,
        rows_saved=maybe_counts,
        retained_until=maybe_counts,
        retention_split=st.none() | st.from_regex(r"[A-Za-z0-9._:-]{1,255}", fullmatch=True).filter(NAME.match),
        producer_lag_ms=maybe_counts,
        event_time_rate=maybe_counts,
    ),
    splits=st.dictionaries(
        st.from_regex(r"[A-Za-z0-9._:-]{1,255}", fullmatch=True).filter(NAME.match),
        st.builds(
            SplitReport,
            watermark=st.integers(MIN, MAX),
            state=st.sampled_from(SplitState),
            position=st.none() | st.integers(MIN, MAX),
            end=st.none() | st.integers(MIN, MAX),
            rows=st.none() | st.integers(0, MAX),
        ),
        max_size=3,
    ),
)


def by_the_codec(text: str | bytes) -> ReportedWatermarkEvent | None:
    try:
        return report_from_json(json.loads(text))
    except (InvalidMessage, ValueError, RecursionError):
        return None


BOUNDS: dict[str, tuple[int, int]] = {
    "subtask": (0, MAX),
    "epoch": (1, MAX),
    "watermark": (MIN, MAX),
    "reach": (MIN, MAX),
    "batch_id": (0, MAX),
    "park_ms": (1, MAX),
}
SPLIT_BOUNDS: dict[str, tuple[int, int]] = {
    "watermark": (MIN, MAX),
    "position": (MIN, MAX),
    "end": (MIN, MAX),
    "rows": (0, MAX),
}
FACTS_BOUNDS: dict[str, tuple[int, int]] = dict.fromkeys(
    ("late_rows", "rows_saved", "retained_until", "producer_lag_ms", "event_time_rate"), (0, MAX)
)
UNBOUNDED = {"idle", "finished", "splits", "state", "facts", "retention_split"}
"""Fields that are checked by their types alone, or as a whole."""


def test_the_bounds_of_every_field_of_a_report_are_known_here() -> None:
    """A new field fails here until `decoding` checks its bounds, and this file says which."""
    assert {each.name for each in fields(ReportedWatermarkEvent)} - UNBOUNDED == BOUNDS.keys()
    assert {each.name for each in fields(SplitReport)} - UNBOUNDED == SPLIT_BOUNDS.keys()
    assert {each.name for each in fields(ReaderFacts)} - UNBOUNDED == FACTS_BOUNDS.keys()


@pytest.mark.parametrize(
    ("name", "inside", "value"),
    [
        (name, inside, value)
        for inside, bounds in (("report", BOUNDS), ("split", SPLIT_BOUNDS), ("facts", FACTS_BOUNDS))
        for name, (least, most) in bounds.items()
        for value in (least - 1, most + 1)
    ],
)
def test_a_number_outside_its_bounds_is_left_to_the_codec_which_refuses_it(name: str, inside: str, value: int) -> None:
    report: dict[str, object] = {"subtask": 0, "epoch": 1, "watermark": 1}
    more: dict[str, dict[str, object]] = {
        "report": {name: value},
        "split": {"splits": {"t-0": {"watermark": 1, "state": "active", name: value}}},
        "facts": {"facts": {name: value}},
    }
    body = json.dumps(report | more[inside])
    assert report_from_bytes(body.encode()) is None
    assert by_the_codec(body) is None


@examples(500)
@given(bodies, st.booleans())
def test_a_decoded_report_equals_the_codec_s(body: Any, ascii_only: bool) -> None:
    text = json.dumps(body, ensure_ascii=ascii_only)
    event = report_from_bytes(text.encode(errors="surrogatepass"))
    assert event is None or event == by_the_codec(text)


@settings(deadline=None)
@given(valid)
def test_every_report_of_a_client_is_decoded(event: ReportedWatermarkEvent) -> None:
    assert report_from_bytes(json.dumps(report_to_json(event)).encode()) == event


@pytest.mark.parametrize(
    "text",
    [
        '{"subtask":0,"epoch":1,"watermark":1.0}',
        '{"subtask":0,"epoch":true,"watermark":1}',
        '{"subtask":0,"epoch":1,"watermark":NaN}',
        '{"subtask":0,"epoch":1,"watermark":9223372036854775808}',
        '{"subtask":0,"epoch":1,"watermark":1,"idle":1}',
        '{"subtask":0,"epoch":1,"watermark":"1"}',
        '{"subtask":0,"epoch":1,"watermark":1}x',
        '{"subtask":0,"epoch":1,"watermark":1',
        '[{"subtask":0,"epoch":1,"watermark":1}]',
        '{"subtask":0,"epoch":1,"watermark":1,"splits":{"a":{"watermark":1,"state":"gone"}}}',
        '{"subtask":0,"epoch":1,"watermark":1,"splits":{"a/b":{"watermark":1,"state":"idle"}}}',
        '{"subtask":0,"epoch":1,"watermark":1,"splits":{"a":{"watermark":1,"state":"idle","rows":-1}}}',
        '{"subtask":0,"epoch":1,"watermark":1,"facts":[]}',
        '{"subtask":0,"epoch":1,"watermark":1,"facts":{"retention_split":"a/b"}}',
        '{"subtask":0,"epoch":1,"watermark":1,"facts":{"event_time_rate":1.0}}',
        "",
        "null",
        '{"subtask":0,"epoch":1,"watermark":1,"other":' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_a_report_that_the_codec_refuses_is_left_to_it(text: str) -> None:
    assert report_from_bytes(text.encode()) is None
    assert by_the_codec(text) is None


sources = st.sampled_from(["a", "b:1", "", "a/b", "é", None, 7])


@examples(300)
@given(st.lists(st.tuples(sources, bodies), max_size=3))
def test_a_decoded_batch_equals_the_codec_s_and_has_no_fault(items: list[Any]) -> None:
    text = json.dumps({"reports": [{"source": source, **body} for source, body in items]})
    taken = reports_from_bytes(text.encode(errors="surrogatepass"))
    if taken is not None:
        read = [(source, report_to_json(event)) for source, event in taken]
        assert read == [
            (item[0], report_to_json(item[1]))
            for item in reports_from_json(json.loads(text))
            if isinstance(item, tuple)
        ]
        assert len(read) == len(items)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), valid), max_size=4))
def test_every_batch_of_a_client_is_decoded(reports: list[tuple[str, ReportedWatermarkEvent]]) -> None:
    taken = reports_from_bytes(json.dumps(reports_to_json(reports)).encode())
    assert taken is not None
    assert [(source, report_to_json(event)) for source, event in taken] == [
        (source, report_to_json(event)) for source, event in reports
    ]


def test_a_batch_above_the_limit_is_left_to_the_codec() -> None:
    one = '{"source":"a","subtask":0,"epoch":1,"watermark":1}'
    assert len(reports_from_bytes(f'{{"reports":[{",".join([one] * BATCH_LIMIT)}]}}'.encode()) or ()) == BATCH_LIMIT
    assert reports_from_bytes(f'{{"reports":[{",".join([one] * (BATCH_LIMIT + 1))}]}}'.encode()) is None
