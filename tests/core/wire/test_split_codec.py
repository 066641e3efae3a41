"""The events of splits as JSON, there and back, and what is refused."""

from base64 import b64encode

import pytest

from lockgate.errors import InvalidMessage, InvalidValue
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.codec import from_json
from lockgate.wire.fields import Json
from lockgate.wire.split_codec import SERIALIZER, check_source_event, split_from_text, split_to_text
from lockgate.wire.split_events import SplitExchange


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
        ({"held": [{"split": "?", "assignment": 1}]}, r"held\[0\].split: must be base64"),
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
        ({"source_events": [{"event": {}}]}, r"source_events\[0\].id: is missing"),
        ({"source_events": [{"id": "x", "event": {}}] * 17}, "source_events: must have at most 16 items"),
        ({"discovered": {}}, "discovered.request: is missing; discovered.splits: is missing"),
        ({"source_events": [{"id": "", "event": {}}]}, r"source_events\[0\].id: must have 1 to 255 characters, not 0"),
        ({"report": {"subtask": 0, "epoch": 4, "watermark": 0}}, "report.epoch: must be that of the exchange, 5"),
    ],
)
def test_a_faulty_exchange_is_refused_with_its_fault(fields: Json, fault: str) -> None:
    with pytest.raises(InvalidMessage, match=fault):
        from_json(SplitExchange, {"epoch": 5, "held": [], **fields})


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ([], "must be an object"),
        ({"a": "x" * 4_096}, "must have 4,096 bytes at most as JSON"),
        ({"a": object()}, "must be an object as JSON has them"),
        ({"a": float("nan")}, "must be an object as JSON has them"),
    ],
)
def test_source_event_no_coordinator_takes_is_refused_before_sending(event: object, says: str) -> None:
    with pytest.raises(InvalidValue, match=says):
        check_source_event(event)


def test_a_source_event_is_an_object_of_4096_bytes_at_most() -> None:
    check_source_event({"a": "x" * (4_096 - len('{"a":""}'))})
    check_source_event(nested(32))
