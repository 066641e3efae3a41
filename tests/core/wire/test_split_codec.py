"""The events of splits as JSON, there and back, and what is refused."""

import json
from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.errors import InvalidMessage, InvalidValue
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.watermark import MAX
from lockgate.wire.events import NAME, ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate.wire.fields import Json
from lockgate.wire.split_codec import (
    SERIALIZER,
    answer_from_json,
    answer_to_json,
    check_source_event,
    exchange_from_json,
    exchange_to_json,
    split_from_text,
    split_to_text,
)
from lockgate.wire.split_events import (
    DiscoveredSplits,
    NumberedSourceEvent,
    NumberedSplit,
    SourceEvent,
    SplitAnswer,
    SplitExchange,
    StoppedSplit,
)

SPLITS = st.builds(
    KafkaPartitionSplit,
    st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True).filter(NAME.match),
    st.integers(0, 2**31 - 1),
    st.integers(0, MAX) | st.sampled_from([-1, -2, -3]),
    st.integers(0, MAX) | st.sampled_from([-1, -3]),
)
ASSIGNED = st.lists(
    st.builds(NumberedSplit, split=SPLITS, assignment=st.integers(1, MAX), restored=st.booleans()),
    max_size=3,
    unique_by=lambda each: each.split.split_id,
).map(tuple)
EVENTS = st.fixed_dictionaries({"a": st.integers() | st.text(max_size=5) | st.none()})
EXCHANGES = st.builds(
    SplitExchange,
    epoch=st.integers(1, MAX),
    held=ASSIGNED,
    given_back=ASSIGNED,
    finished=ASSIGNED,
    capacity=st.integers(0, 1_000_000),
    request_split=st.booleans(),
    discovery_interval_ms=st.none() | st.integers(0, MAX),
    discovered=st.none()
    | st.builds(
        DiscoveredSplits,
        splits=st.lists(SPLITS, max_size=3, unique_by=str).map(tuple),
        bounded=st.booleans(),
        request=st.integers(0, MAX),
    ),
    seen=st.none() | st.integers(1, MAX),
    is_processing_backlog=st.booleans(),
    source_events=st.lists(
        st.builds(SourceEvent, id=st.text("ab", min_size=1, max_size=5), event=EVENTS), max_size=3
    ).map(tuple),
    source_events_seen=st.integers(0, MAX),
)
ANSWERS = st.builds(
    SplitAnswer,
    group=st.just("g"),
    source=st.just("s"),
    subtask=st.integers(0, 9),
    epoch=st.integers(1, MAX),
    revision=st.integers(0, MAX),
    lease_ms=st.integers(1, MAX),
    update_interval_ms=st.integers(1, MAX),
    alignment=st.just(WatermarkAlignmentEvent(group="g", revision=1, group_watermark=2, max_desired_watermark=3)),
    add_splits=ASSIGNED,
    give_back=st.just(("orders-1",)),
    stop=st.just((StoppedSplit(split="orders-2", assignment=7),)),
    no_more_splits=st.booleans(),
    discover=st.none() | st.integers(0, MAX),
    is_processing_backlog=st.booleans(),
    source_events=st.lists(st.builds(NumberedSourceEvent, number=st.integers(1, MAX), event=EVENTS), max_size=3).map(
        tuple
    ),
    assigning_in_ms=st.integers(0, MAX),
)


@given(EXCHANGES)
def test_an_exchange_comes_back_from_its_json(exchange: SplitExchange) -> None:
    assert exchange_from_json(json.loads(json.dumps(exchange_to_json(exchange))), 0) == exchange


@given(ANSWERS)
def test_an_answer_comes_back_from_its_json(answer: SplitAnswer) -> None:
    assert answer_from_json(json.loads(json.dumps(answer_to_json(answer)))) == answer


def test_a_split_is_flinks_bytes_in_base64() -> None:
    split = KafkaPartitionSplit("orders", 3, 42)

    assert split_to_text(split) == b64encode(SERIALIZER.serialize(split)).decode()
    assert split_from_text("AAZvcmRlcnMAAAADAAAAAAAAACqAAAAAAAAAAA==") == split


def nested(deep: int) -> object:
    """Objects and lists within each other."""
    inner: object = 1
    for level in range(deep):
        inner = [inner] if level + 1 < deep else {"a": inner}
    return inner


def text_of(topic: str, partition: int) -> str:
    return split_to_text(KafkaPartitionSplit.as_flink(topic, partition, 0))


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"held": None}, "held: must be a list, not null"),
        ({"held": [{"split": "?", "assignment": 1}]}, r"held\[0\].split: split: must be base64"),
        ({"held": [{"split": "AAZv", "assignment": 1}]}, r"held\[0\].split: topic: needs 6 bytes"),
        ({"held": [{"split": text_of("or ders", 0), "assignment": 1}]}, r"held\[0\].split: topic: of a split must be"),
        ({"held": [{"split": text_of("orders", -1), "assignment": 1}]}, r"held\[0\].split: .*partition"),
        ({"held": [{"split": text_of("orders", 0), "assignment": 0}]}, r"held\[0\].assignment: must be 1 or more"),
        ({"held": [{"split": text_of("orders", 0), "assignment": 1}] * 2}, r"held\[1\].split: orders-0 is named twice"),
        ({"capacity": -1}, "capacity: must be 0 to 1000000"),
        ({"serializer_version": 1}, "serializer_version: must be 0 to 0"),
        ({"source_events": [{"id": "x", "event": {"a": "b" * 4_096}}]}, r"source_events\[0\].event: must have 4,096"),
        ({"source_events": [{"id": "x", "event": {"a": float("inf")}}]}, r"event: must be an object as JSON has them"),
        ({"source_events": [{"id": "x", "event": nested(33)}]}, "event: must have .* each other 32 deep at most"),
        ({"source_events": [{"event": {}}]}, r"source_events\[0\].id: must not be missing"),
        ({"source_events": [{"id": "x", "event": {}}] * 17}, "source_events: must have at most 16 items"),
        ({"discovered": {}}, "discovered.request: is missing; discovered.splits: is missing"),
        (
            {"report": {"subtask": 1, "epoch": 5, "watermark": 0}},
            "report.subtask: and epoch must be those of the exchange, 0 and 5",
        ),
    ],
)
def test_a_faulty_exchange_is_refused_with_its_fault(fields: Json, fault: str) -> None:
    with pytest.raises(InvalidMessage, match=fault):
        exchange_from_json({"epoch": 5, "held": [], **fields}, 0)


def test_a_report_goes_along() -> None:
    report = ReportedWatermarkEvent(subtask=0, epoch=5, watermark=7)
    exchange = SplitExchange(epoch=5, report=report)

    assert exchange_from_json(exchange_to_json(exchange), 0) == exchange


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ([], "must be an object"),
        ({"a": "x" * 4_096}, "must have 4,096 bytes at most as JSON"),
        ({"a": object()}, "must be an object as JSON has them"),
        ({"a": float("nan")}, "must be an object as JSON has them"),
    ],
)
def test_a_source_event_that_no_coordinator_would_take_is_refused_before_it_is_sent(event: object, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        check_source_event(event)


def test_a_source_event_is_an_object_of_4096_bytes_at_most() -> None:
    check_source_event({"a": "x" * (4_096 - len('{"a":""}'))})
    check_source_event(nested(32))
