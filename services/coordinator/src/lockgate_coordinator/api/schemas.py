"""The JSON Schemas of all bodies, as the core's codec and the inspection accept and write them.

They are written by hand: a dataclass has neither the range of a number, nor which values may be
null, nor which unknown values are refused. tests/protocol/test_document.py compares them with the
codec, tests/protocol/test_schemas.py with real answers.
"""

from typing import Any

from lockgate.watermark import MAX, MIN
from lockgate.wire.codec import BATCH_LIMIT
from lockgate.wire.events import (
    CONFIG_FLOORS,
    MAX_WAIT_FLOOR,
    NAME_PATTERN,
    CatchUp,
    GroupConfig,
    Mode,
    OnLostReader,
    OnMaxWait,
    SplitState,
)
from lockgate.wire.fields import Json
from lockgate.wire.source_pauses import REASON_LIMIT
from lockgate_coordinator.service.census import HEALTH

NULL: Json = {"type": "null"}
TEXT: Json = {"type": "string"}
FLAG: Json = {"type": "boolean"}
NAME_FORM = f"^{NAME_PATTERN}$"
NAME: Json = {"type": "string", "pattern": NAME_FORM, "minLength": 1, "maxLength": 255}


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def integer(low: int = MIN, high: int = MAX, **more: Any) -> Json:
    """Return a whole number of 64 bits, within `low` and `high`."""
    return {"type": "integer", "format": "int64", "minimum": low, "maximum": high, **more}


def or_null(schema: Json) -> Json:
    return {"anyOf": [schema, NULL]}


def record(needed: Json, others: Json | None = None, **more: Any) -> Json:
    """Return the schema of an object whose fields `needed` are required."""
    return {"type": "object", "properties": {**needed, **(others or {})}, "required": [*needed], **more}


def list_of(item: Json, **more: Any) -> Json:
    return {"type": "array", "items": item, **more}


def by_name(item: Json) -> Json:
    """Return the schema of a map whose keys are names."""
    return {"type": "object", "propertyNames": NAME, "additionalProperties": item}


def one_of(kind: Any, **more: Any) -> Json:
    """Return the values of an Enum."""
    return {"type": "string", "enum": [member.value for member in kind], **more}


def _with_iso(*names: str) -> Json:
    """Return the schemas of times, each with its ISO form."""
    return {key: schema for name in names for key, schema in ((name, TIME), (f"{name}_iso", TEXT))}


TIME = integer(
    description="ms since the Unix epoch. The lowest value (MIN) means no time yet, the highest (MAX) means that "
    "the reader never blocks others"
)
COUNT = integer(0)
SUBTASK = integer(0)
EPOCH = integer(1)
DEFAULT = GroupConfig()

_CONFIG = record(
    {},
    {
        **{
            key: integer(CONFIG_FLOORS[key], default=getattr(DEFAULT, key))
            for key in ("max_drift_ms", "update_interval_ms", "lease_ms")
        },
        "on_lost_reader": one_of(OnLostReader, default=DEFAULT.on_lost_reader.value),
        "mode": one_of(Mode, default=DEFAULT.mode.value),
        "catch_up": one_of(CatchUp, default=DEFAULT.catch_up.value),
        "expected_sources": list_of(NAME, default=[]),
        "max_wait_ms": or_null(integer(MAX_WAIT_FLOOR)),
        "on_max_wait": one_of(OnMaxWait, default=DEFAULT.on_max_wait.value),
    },
    additionalProperties=False,
)
_SPLIT = record(
    {"watermark": TIME, "state": one_of(SplitState)},
    {"position": or_null(integer()), "end": or_null(integer()), "rows": or_null(COUNT)},
)
_FACTS: Json = {
    "late_rows": or_null(COUNT),
    "rows_saved": or_null(COUNT),
    "retained_until": or_null(integer(0, description="wall-clock time, ms since the Unix epoch")),
    "retention_split": or_null(NAME),
    "producer_lag_ms": or_null(COUNT),
    "event_time_rate": or_null(integer(0, description="ms of event time per second of wall-clock time")),
}
_REPORT = record(
    {"subtask": SUBTASK, "epoch": EPOCH, "watermark": TIME},
    {
        "idle": {**FLAG, "default": False},
        "finished": {**FLAG, "default": False},
        "reach": or_null(TIME),
        "batch_id": or_null(COUNT),
        "park_ms": or_null(integer(1)),
        "facts": or_null(ref("ReaderFacts")),
        "splits": by_name(ref("SplitReport")),
    },
)
_EVENT = record(
    {
        "group": NAME,
        "revision": COUNT,
        "group_watermark": TIME,
        "max_desired_watermark": TIME,
        "blocked_by": list_of(ref("Blocker"), maxItems=8),
    },
    {"would_be": TIME, "config_version": COUNT, "paused_sources": list_of(ref("SourcePause"))},
)
_READER = record(
    {
        "subtask": SUBTASK,
        "epoch": EPOCH,
        "owner": TEXT,
        "attributes": {"type": "object", "additionalProperties": TEXT},
        "state": {
            "type": "string",
            "enum": ["registered", "active", "idle", "parked", "finished", "passed_over", "lost"],
        },
        **_with_iso("watermark"),
        "drift_ms": or_null(integer()),
        "reach": or_null(TIME),
        "batch_id": or_null(COUNT),
        "lease_left_ms": or_null(COUNT),
        "parked_until": or_null(TIME),
        "parked_until_iso": or_null(TEXT),
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
    "health": {"anyOf": [{"enum": list(HEALTH)}, NULL]},
    "states": or_null({"type": "object", "additionalProperties": COUNT}),
    "waiting": or_null(COUNT),
    "overdue": or_null(COUNT),
}

SCHEMAS: dict[str, Json] = {
    "ArrivingSplit": record({"split": TEXT, **_with_iso("watermark")}),
    "GroupConfig": _CONFIG,
    "SplitReport": _SPLIT,
    "ReaderFacts": record({}, _FACTS),
    "ReportedWatermarkEvent": _REPORT,
    "ReportOfBatch": {
        **_REPORT,
        "properties": {"source": NAME, **_REPORT["properties"]},
        "required": ["source", *_REPORT["required"]],
    },
    "Reports": record({"reports": list_of(ref("ReportOfBatch"), maxItems=BATCH_LIMIT)}),
    "SplitProgress": record({"watermark": TIME, "position": COUNT, "rows": COUNT}),
    "ProgressEvent": record(
        {
            "subtask": SUBTASK,
            "epoch": EPOCH,
            "batch_id": COUNT,
            "attempt": COUNT,
            "splits": by_name(ref("SplitProgress")),
        },
    ),
    "ReaderRegistrationEvent": record(
        {"subtask": SUBTASK},
        {
            "owner": {**TEXT, "default": ""},
            "takeover": {**FLAG, "default": False},
            "attributes": {"type": "object", "additionalProperties": TEXT},
            "config": or_null(ref("GroupConfig")),
            "ceiling": or_null(TIME),
            "configured_at": or_null(integer(1)),
        },
    ),
    "RegistrationAnswer": record(
        {
            "subtask": SUBTASK,
            "epoch": EPOCH,
            "lease_ms": integer(1),
            "update_interval_ms": integer(1),
            "alignment": ref("WatermarkAlignmentEvent"),
        }
    ),
    "Blocker": record({"source": NAME, "subtask": SUBTASK, "watermark": TIME}, {"split": NAME}),
    "WatermarkAlignmentEvent": _EVENT,
    "SourcePause": record({"source": NAME, "at": TIME}, {"by": TEXT, "reason": TEXT}),
    "PauseRequest": record(
        {}, {"reason": {**TEXT, "default": "", "maxLength": REASON_LIMIT}}, additionalProperties=False
    ),
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
        {**_FACTS, "retained_until_iso": or_null(TEXT), "retention_left_ms": or_null(COUNT)},
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
}
