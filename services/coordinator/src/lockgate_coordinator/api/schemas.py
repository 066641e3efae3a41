"""The JSON Schemas of all bodies.

The schemas of the protocol's messages are derived from their definitions (`lockgate.wire.codec`).
Other schemas are written by hand, mostly for results of `service.inspection` and
`service.inspected_splits`. tests/protocol/test_schemas.py compares all schemas with real answers.
"""

from dataclasses import MISSING, is_dataclass
from typing import Any

from lockgate.watermark import MAX, MIN
from lockgate.wire import events, split_events
from lockgate.wire.codec import ByName, Choice, Flag, Formed, Items, Message, Shape, Text, Whole, shape_of
from lockgate.wire.events import (
    Blocker,
    Mode,
    ReaderFacts,
    RegistrationAnswer,
    SourcePause,
    SplitState,
    WatermarkAlignmentEvent,
)
from lockgate.wire.fields import MOMENT, NAME_PATTERN, Json
from lockgate.wire.split_events import SOURCE_EVENTS_KEPT, NumberedSourceEvent, SplitAnswer, StoppedSplit
from lockgate_coordinator.service.inspected_splits import READERS_SHOWN, STATES, WORDS
from lockgate_coordinator.service.inspection import HEALTH
from lockgate_coordinator.telemetry.figures import READER_STATES

NULL: Json = {"type": "null"}
TEXT: Json = {"type": "string"}
FLAG: Json = {"type": "boolean"}
NAME_FORM = f"^{NAME_PATTERN}$"
NAME: Json = {"type": "string", "pattern": NAME_FORM, "minLength": 1, "maxLength": 255}

ANSWERS = (
    Blocker,
    NumberedSourceEvent,
    RegistrationAnswer,
    SourcePause,
    SplitAnswer,
    StoppedSplit,
    WatermarkAlignmentEvent,
)
"""The messages that only the coordinator sends. All of their fields are present."""


def _messages() -> dict[str, Json]:
    """Return the schema of each message of the protocol, by the name of its class."""
    found = [*vars(events).values(), *vars(split_events).values()]
    kinds = [kind for kind in found if isinstance(kind, type) and is_dataclass(kind)]
    return {kind.__name__: _of_message(shape_of(kind), whole=kind in ANSWERS) for kind in kinds}


def _of_message(shape: Message, *, whole: bool) -> Json:
    properties: Json = {}
    for field in shape.fields:
        schema = or_null(_of(field.shape)) if field.may_be_none else _of(field.shape)
        if field.default is not MISSING and field.default is not None and not whole:
            schema = {**schema, "default": field.shape.write(field.default)}
        properties[field.name] = schema
    required = [field.name for field in shape.fields if whole or field.default is MISSING]
    more = {"additionalProperties": False} if shape.closed else {}
    return {"type": "object", "properties": properties, "required": required, **more}


def _of(shape: Shape) -> Json:
    match shape:
        case Whole(low, high, description):
            return integer(low, high, **({"description": description} if description else {}))
        case Flag():
            return FLAG
        case Text(least, most, pattern):
            # the end of an expression of JSON Schema is $, which in Python allows a newline
            form = {} if pattern is None else {"pattern": pattern.pattern.replace("\\Z", "$")}
            lengths = {**({"minLength": least} if least else {}), **({} if most == MAX else {"maxLength": most})}
            return {**TEXT, **form, **lengths}
        case Choice(members):
            return {"type": "string", "enum": [*members]}
        case Formed(form):
            return form.schema
        case Items(item, most):
            return list_of(_of(item), **({} if most is None else {"maxItems": most}))
        case ByName(key, item):
            names = {"propertyNames": _of(key)} if key.pattern else {}
            return {"type": "object", **names, "additionalProperties": _of(item)}
        case Message(kind):
            return ref(kind.__name__)
    raise AssertionError(f"no schema for {shape}")


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def integer(low: int = MIN, high: int = MAX, **more: Any) -> Json:
    """Return the schema of a 64-bit integer from `low` to `high`."""
    return {"type": "integer", "format": "int64", "minimum": low, "maximum": high, **more}


def or_null(schema: Json) -> Json:
    return {"anyOf": [schema, NULL]}


def record(needed: Json, others: Json | None = None, **more: Any) -> Json:
    """Return the schema of an object with the fields `needed` and the optional fields `others`."""
    return {"type": "object", "properties": {**needed, **(others or {})}, "required": [*needed], **more}


def list_of(item: Json, **more: Any) -> Json:
    return {"type": "array", "items": item, **more}


def by_name(item: Json) -> Json:
    """Return the schema of an object that maps names to values with the schema `item`."""
    return {"type": "object", "propertyNames": NAME, "additionalProperties": item}


def one_of(kind: Any, **more: Any) -> Json:
    """Return the schema of a string that is one of an Enum's values."""
    return {"type": "string", "enum": [member.value for member in kind], **more}


def _with_iso(*names: str) -> Json:
    """Return the schemas of what `inspection.with_iso` returns for times of these names."""
    return {key: schema for name in names for key, schema in ((name, TIME), (f"{name}_iso", TEXT))}


def _with_iso_or_null(name: str) -> Json:
    return {key: or_null(schema) for key, schema in _with_iso(name).items()}


TIME = integer(description=MOMENT)
COUNT = integer(0)
SUBTASK = integer(0)
EPOCH = integer(1)

_READER = record(
    {
        "subtask": SUBTASK,
        "epoch": EPOCH,
        "owner": TEXT,
        "attributes": {"type": "object", "additionalProperties": TEXT},
        "state": {"type": "string", "enum": [*READER_STATES]},
        **_with_iso("watermark"),
        "drift_ms": or_null(integer()),
        "reach": or_null(TIME),
        "batch_id": or_null(COUNT),
        "lease_left_ms": or_null(COUNT),
        **_with_iso_or_null("parked_until"),
        "progress_age_ms": or_null(COUNT),
        "waiting_ms": or_null(COUNT),
        "overdue": FLAG,
        "arriving": or_null(ref("ArrivingSplit")),
        "progress_ignored": COUNT,
        "facts": or_null(ref("InspectedFacts")),
    },
    {"splits": by_name(ref("InspectedSplit"))},
)

_COUNTED: Json = {
    "health": {"enum": list(HEALTH)},
    "states": {"type": "object", "additionalProperties": COUNT},
    "waiting": COUNT,
    "overdue": COUNT,
}

_NUMBER = integer(1)
_EVENT: Json = {"type": "object", "description": "at most 4,096 bytes as JSON"}
_OFFSET: Json = {"anyOf": [COUNT, {"enum": list(WORDS.values())}]}

SCHEMAS: dict[str, Json] = {
    **_messages(),
    "ArrivingSplit": record({"split": TEXT, **_with_iso("watermark")}),
    "InspectedPause": record({"source": NAME, **_with_iso("at"), "by": or_null(TEXT), "reason": TEXT}),
    "PausedSource": record({"group": NAME, "source": NAME, "paused": or_null(ref("InspectedPause"))}),
    "ServerSentEvent": record(
        {
            "event": {"const": "alignment"},
            "id": {**TEXT, "pattern": "^[0-9]{1,19}$", "description": "revision of the event"},
            "data": {**TEXT, "contentMediaType": "application/json", "contentSchema": ref("WatermarkAlignmentEvent")},
        }
    ),
    "ReportsAnswer": record({"alignment": ref("WatermarkAlignmentEvent"), "rejected": list_of(ref("Rejection"))}),
    "GroupSummary": record(
        {
            "group": NAME,
            "revision": COUNT,
            **_with_iso("group_watermark", "max_desired_watermark", "now"),
            "drift_ms": or_null(COUNT),
            "max_drift_ms": COUNT,
            "mode": one_of(Mode),
            "readers": COUNT,
            **_COUNTED,
            "blocked_by": list_of(ref("Blocker"), maxItems=8),
            "sentence": TEXT,
        }
    ),
    "Groups": record(
        {"items": list_of(ref("GroupSummary"), maxItems=1000), "next": or_null(NAME)},
        {"unreadable": list_of(record({"group": NAME, "reason": TEXT, "remedy": TEXT}), maxItems=1000)},
    ),
    "InspectedSplit": record(
        {
            **_with_iso("watermark"),
            "state": one_of(SplitState),
            "position": or_null(integer()),
            "end": or_null(integer()),
            "rows": or_null(COUNT),
            "drift_ms": or_null(integer()),
        }
    ),
    "InspectedFacts": record(
        {
            **_of_message(shape_of(ReaderFacts), whole=True)["properties"],
            "retained_until_iso": or_null(TEXT),
            "retention_left_ms": or_null(COUNT),
        }
    ),
    "InspectedReader": _READER,
    "InspectedGroup": record(
        {
            "group": NAME,
            "config": ref("GroupConfig"),
            "configured_at": or_null(integer(1)),
            "alignment": ref("WatermarkAlignmentEvent"),
            **_with_iso("group_watermark", "max_desired_watermark", "created_at", "now"),
            "drift_ms": or_null(COUNT),
            "waiting_for": list_of(NAME),
            "paused_sources": list_of(ref("InspectedPause")),
            "readers": COUNT,
            **_COUNTED,
            "sentence": TEXT,
            "reason": or_null(TEXT),
            "sources": list_of(
                record(
                    {
                        "source": NAME,
                        "paused": or_null(ref("InspectedPause")),
                        "readers": list_of(ref("InspectedReader")),
                    }
                )
            ),
            "next": or_null({"type": "string", "description": "SOURCE/SUBTASK to pass as `after` for the next page"}),
        },
        {"enumerators": by_name(ref("SplitCounts"))},
    ),
    "InspectedSource": record(
        {
            "group": NAME,
            "source": NAME,
            "paused": or_null(ref("InspectedPause")),
            **_with_iso("group_watermark", "now"),
            "readers": list_of(ref("InspectedReader")),
            "next": or_null(SUBTASK),
        }
    ),
    "JournalEntry": record(
        {
            "id": TEXT,
            **_with_iso("at"),
            "kind": TEXT,
            "by": or_null(TEXT),
            "reason": TEXT,
            "details": {"type": "object"},
        },
        {"source": NAME, "subtask": SUBTASK},
    ),
    "Sample": record(
        {
            "at": TIME,
            "group_watermark": TIME,
            "max_desired_watermark": TIME,
            "blocked_by": list_of(ref("Blocker"), maxItems=3),
            "sources": by_name(
                record({"watermark": TIME, "state": TEXT, "readers": COUNT}, {"late_rows": COUNT, "rows_saved": COUNT})
            ),
        }
    ),
    "Samples": record({"group": NAME, "samples": list_of(ref("Sample"))}),
    "Journal": record({"group": NAME, "items": list_of(ref("JournalEntry"), maxItems=1000), "next": or_null(TEXT)}),
    "Caller": record(
        {
            "name": or_null({**TEXT, "description": "null if the coordinator has no tokens"}),
            "role": {"enum": ["read", "report", "admin"]},
            "groups": or_null(list_of({**TEXT, "description": "name of a group, or a prefix followed by *"})),
        }
    ),
    "Live": record({"status": {"const": "live"}}),
    "Ready": record({"status": {"const": "ready"}}),
    "SplitServerSentEvent": record(
        {
            "event": {
                "enum": ["watermark-alignment", "add-splits", "no-more-splits", "is-processing-backlog", "source-event"]
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
    "MailedEvent": record({"number": _NUMBER}),
    "SplitCounts": record(dict.fromkeys(STATES, COUNT)),
    "SplitEnumerator": record(
        {
            "splits": COUNT,
            **dict.fromkeys(STATES, COUNT),
            "bounded": FLAG,
            "static": FLAG,
            **_with_iso_or_null("discovered_at"),
            "discoverer": or_null(SUBTASK),
            "assigning_in_ms": COUNT,
            "lost_history": FLAG,
            "is_processing_backlog": FLAG,
            "source_events": list_of(
                record({"id": TEXT, "subtask": SUBTASK, **_with_iso("at"), "event": _EVENT}),
                maxItems=SOURCE_EVENTS_KEPT,
            ),
        }
    ),
    "InspectedSplits": record(
        {
            "group": NAME,
            "source": NAME,
            **_with_iso("now"),
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
            **_with_iso_or_null("since"),
        }
    ),
}
