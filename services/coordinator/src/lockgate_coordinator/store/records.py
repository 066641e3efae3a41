"""A group as text: one record for the head, one for each reader, so that a report writes two short records however large the group."""

import json
from collections.abc import Mapping
from typing import Any

from lockgate.codec import config_from_json, config_to_json, report_from_json, report_to_json
from lockgate.group import Group
from lockgate.readers import Reader, ReaderKey, Readers

_HEAD_NUMBERS = (
    "config_version",
    "created_at",
    "grace_until",
    "revision",
    "group_watermark",
    "max_desired_watermark",
    "cap",
    "started",
    "heard_at",
    "left_epoch",
)
_READER_VALUES = (
    "epoch",
    "heard_at",
    "owner",
    "excused",
    "lost",
    "progressed_at",
    "held_since",
    "overdue",
    "passed_over",
    "splits_named",
    "progress_ignored",
)


def head_to_text(group: Group) -> str:
    head: dict[str, Any] = {name: getattr(group, name) for name in _HEAD_NUMBERS}
    head["config"] = config_to_json(group.config)
    head["sources_seen"] = sorted(group.sources_seen)
    return _text(head)


def reader_to_text(reader: Reader) -> str:
    record: dict[str, Any] = {name: getattr(reader, name) for name in _READER_VALUES}
    record["attributes"] = dict(reader.attributes)
    record["attempts"] = {split: list(attempt) for split, attempt in reader.attempts.items()}
    record["reported"] = None if reader.reported is None else report_to_json(reader.reported)
    return _text(record)


def reader_from_text(text: str) -> Reader:
    values = json.loads(text)
    reported = values.pop("reported")
    attempts = {split: (batch_id, attempt) for split, (batch_id, attempt) in values.pop("attempts").items()}
    return Reader(reported=None if reported is None else report_from_json(reported), attempts=attempts, **values)


def group_from_text(name: str, head: str, readers: Mapping[ReaderKey, Reader]) -> Group:
    values = json.loads(head)
    config = config_from_json(values.pop("config"))
    seen = frozenset(values.pop("sources_seen"))
    return Group(name=name, config=config, sources_seen=seen, readers=Readers.of(readers), **values)


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))
