"""The JSON Schemas of bodies about splits, as `schemas` has them for all others."""

from lockgate.wire.fields import Json
from lockgate.wire.split_codec import ID_LIMIT, SERIALIZER
from lockgate.wire.split_events import CAPACITY_LIMIT, SOURCE_EVENTS_KEPT
from lockgate_coordinator.api.schemas import (
    COUNT,
    EPOCH,
    FLAG,
    NAME,
    SUBTASK,
    TEXT,
    TIME,
    integer,
    list_of,
    or_null,
    record,
    ref,
)
from lockgate_coordinator.service.inspected_splits import READERS_SHOWN, STATES, WORDS

_SPLIT: Json = {**TEXT, "contentEncoding": "base64", "description": "Flink's KafkaPartitionSplit, version 0"}
_VERSION = integer(0, SERIALIZER.version, default=SERIALIZER.version)
_NUMBER = integer(1)
_MOMENT: Json = {"since": or_null(TIME), "since_iso": or_null(TEXT)}
_EVENT: Json = {"type": "object", "description": "at most 4,096 bytes as JSON"}
_OFFSET: Json = {"anyOf": [COUNT, {"enum": list(WORDS.values())}]}

SPLIT_SCHEMAS: dict[str, Json] = {
    "NumberedSplit": record({"split": _SPLIT, "assignment": _NUMBER}, {"restored": {**FLAG, "default": False}}),
    "DiscoveredSplits": record(
        {"request": COUNT, "splits": list_of(_SPLIT)},
        {"serializer_version": _VERSION, "bounded": {**FLAG, "default": False}},
    ),
    "SplitList": record(
        {"splits": list_of(_SPLIT)},
        {"serializer_version": _VERSION, "bounded": {**FLAG, "default": False}},
        additionalProperties=False,
    ),
    "SourceEvent": record({"id": {**TEXT, "minLength": 1, "maxLength": ID_LIMIT}, "event": _EVENT}),
    "NumberedSourceEvent": record({"number": _NUMBER, "event": _EVENT}),
    "SplitExchange": record(
        {"epoch": EPOCH, "held": list_of(ref("NumberedSplit"))},
        {
            "given_back": list_of(ref("NumberedSplit")),
            "finished": list_of(ref("NumberedSplit")),
            "capacity": integer(0, CAPACITY_LIMIT, default=1),
            "request_split": {**FLAG, "default": False},
            "discovery_interval_ms": or_null(COUNT),
            "discovered": or_null(ref("DiscoveredSplits")),
            "seen": or_null(COUNT),
            "is_processing_backlog": {**FLAG, "default": False},
            "source_events": list_of(ref("SourceEvent"), maxItems=SOURCE_EVENTS_KEPT),
            "source_events_seen": integer(0, default=0),
            "serializer_version": _VERSION,
            "report": or_null(ref("ReportedWatermarkEvent")),
        },
    ),
    "SplitAnswer": record(
        {
            "group": NAME,
            "source": NAME,
            "subtask": SUBTASK,
            "epoch": EPOCH,
            "revision": COUNT,
            "serializer_version": _VERSION,
            "add_splits": list_of(ref("NumberedSplit")),
            "give_back": list_of(NAME),
            "stop": list_of(record({"split": NAME, "assignment": _NUMBER})),
            "no_more_splits": FLAG,
            "discover": or_null(COUNT),
            "is_processing_backlog": FLAG,
            "source_events": list_of(ref("NumberedSourceEvent"), maxItems=SOURCE_EVENTS_KEPT),
            "assigning_in_ms": COUNT,
            "lease_ms": integer(1),
            "update_interval_ms": integer(1),
            "alignment": ref("WatermarkAlignmentEvent"),
        }
    ),
    "SplitServerSentEvent": record(
        {
            "event": {
                "enum": [
                    "watermark-alignment",
                    "add-splits",
                    "no-more-splits",
                    "is-processing-backlog",
                    "source-event",
                ]
            },
            "data": {**TEXT, "contentMediaType": "application/json"},
        },
        {
            "id": {
                **TEXT,
                "pattern": "^[0-9]{1,19}$",
                "description": "revision of the event; only watermark-alignment has it",
            }
        },
    ),
    "ListedSplits": record(
        {"group": NAME, "source": NAME, "revision": COUNT, "splits": COUNT, "new": COUNT, "missing": COUNT}
    ),
    "MailRequest": record(
        {"event": _EVENT},
        {"subtask": or_null(SUBTASK), "id": {**TEXT, "maxLength": ID_LIMIT, "default": ""}},
        additionalProperties=False,
    ),
    "MailedEvent": record({"number": _NUMBER}),
    "SplitCounts": record(dict.fromkeys(STATES, COUNT)),
    "SplitEnumerator": record(
        {
            "splits": COUNT,
            **dict.fromkeys(STATES, COUNT),
            "bounded": FLAG,
            "static": FLAG,
            "discovered_at": or_null(TIME),
            "discovered_at_iso": or_null(TEXT),
            "discoverer": or_null(SUBTASK),
            "assigning_in_ms": COUNT,
            "lost_history": FLAG,
            "is_processing_backlog": FLAG,
            "source_events": list_of(
                record({"id": TEXT, "subtask": SUBTASK, "at": TIME, "at_iso": TEXT, "event": _EVENT}),
                maxItems=SOURCE_EVENTS_KEPT,
            ),
        }
    ),
    "InspectedSplits": record(
        {
            "group": NAME,
            "source": NAME,
            "now": TIME,
            "now_iso": TEXT,
            "revision": COUNT,
            "enumerator": ref("SplitEnumerator"),
            "readers": list_of(
                record(
                    {
                        "subtask": SUBTASK,
                        "epoch": EPOCH,
                        "capacity": COUNT,
                        "splits": COUNT,
                        "revoking": COUNT,
                        "lease_left_ms": COUNT,
                        "requests": FLAG,
                        "fenced": FLAG,
                        "discovers": FLAG,
                    }
                ),
                maxItems=READERS_SHOWN,
            ),
            "items": list_of(ref("AssignedSplit"), maxItems=1000),
            "next": or_null(NAME),
        }
    ),
    "AssignedSplit": record(
        {
            "split": NAME,
            "topic": NAME,
            "partition": COUNT,
            "position": _OFFSET,
            "stopping_offset": or_null(_OFFSET),
            "state": {"enum": list(STATES)},
            "subtask": or_null(SUBTASK),
            "epoch": or_null(EPOCH),
            "assignment": or_null(_NUMBER),
            **_MOMENT,
        }
    ),
}
