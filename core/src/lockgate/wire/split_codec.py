"""The two values with a custom JSON form in the messages about splits: a split, and a SourceEvent.

A split is written as Flink's bytes in base64. Its topic and its id must be valid names. A
SourceEvent is an object that the source defines, and is passed on unchanged.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Annotated, Any

from lockgate.errors import InvalidValue
from lockgate.flink.split_serializer import KafkaPartitionSplitSerializer
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.fields import NAME, NAME_RULE, JsonForm

SERIALIZER = KafkaPartitionSplitSerializer()
"""The serializer of splits on the wire."""

SOURCE_EVENT_SIZE = 4_096
"""The maximum size of a SourceEvent as JSON, in bytes."""

SOURCE_EVENT_DEPTH = 32
"""The maximum depth of nested objects and lists in a SourceEvent, since parsers have a limit."""


def split_to_text(split: KafkaPartitionSplit) -> str:
    return b64encode(SERIALIZER.serialize(split)).decode()


def split_from_text(text: object) -> KafkaPartitionSplit:
    """Return the split in base64 `text`.

    Raises `InvalidValue` if it cannot be decoded, or if its topic, id or partition is invalid.
    """
    if type(text) is not str:
        raise InvalidValue("split", "must be a split's bytes in base64")
    try:
        data = b64decode(text, validate=True)
    except ValueError as error:
        raise InvalidValue("split", f"must be base64: {error}") from error
    split = SERIALIZER.deserialize(SERIALIZER.version, data)
    if not NAME.match(split.topic) or not NAME.match(split.split_id):
        raise InvalidValue("topic", f"of a split {NAME_RULE}, with its partition")
    if split.partition < 0:
        raise InvalidValue("partition", "of a split must be 0 or more")
    return split


def check_source_event(event: object) -> dict[str, Any]:
    """Return `event` unchanged. Raises `InvalidValue` if it is not a JSON object, is too large, or
    is nested too deeply.
    """
    if not isinstance(event, dict):
        raise InvalidValue("event", "must be an object")
    if _is_deeper(event, SOURCE_EVENT_DEPTH):
        rule = f"must have objects and lists within each other {SOURCE_EVENT_DEPTH} deep at most"
        raise InvalidValue("event", rule)
    try:
        size = len(json.dumps(event, separators=(",", ":"), allow_nan=False))
    except (TypeError, ValueError) as error:  # such as a number beyond all floats, which Python reads as infinite
        raise InvalidValue("event", f"must be an object as JSON has them ({error})") from error
    if size > SOURCE_EVENT_SIZE:
        raise InvalidValue("event", f"must have {SOURCE_EVENT_SIZE:,} bytes at most as JSON")
    return event


def _is_deeper(value: object, most: int) -> bool:
    """Return whether a value nests objects and lists more than `most` levels deep."""
    level: list[object] = [value]
    for _ in range(most + 1):
        inside = [each for each in level if isinstance(each, (dict, list, tuple))]
        level = [item for each in inside for item in (each.values() if isinstance(each, dict) else each)]
        if not inside:
            return False
    return True


Split = Annotated[
    KafkaPartitionSplit,
    JsonForm(
        split_from_text,
        split_to_text,
        {"type": "string", "contentEncoding": "base64", "description": "Flink's KafkaPartitionSplit, version 0"},
    ),
]
"""A split in a message."""

SourceEventBody = Annotated[
    Mapping[str, Any],
    JsonForm(
        check_source_event, dict, {"type": "object", "description": f"{SOURCE_EVENT_SIZE:,} bytes at most as JSON"}
    ),
]
"""The object of a SourceEvent in a message."""
