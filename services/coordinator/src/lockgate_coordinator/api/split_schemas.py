"""The JSON Schemas of the inspection of splits."""

from lockgate.wire.fields import Json
from lockgate.wire.split_events import SOURCE_EVENTS_KEPT
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

_NUMBER = integer(1)
_MOMENT: Json = {"since": or_null(TIME), "since_iso": or_null(TEXT)}
_EVENT: Json = {"type": "object", "description": "at most 4,096 bytes as JSON"}
_OFFSET: Json = {"anyOf": [COUNT, {"enum": list(WORDS.values())}]}

SPLIT_SCHEMAS: dict[str, Json] = {
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
