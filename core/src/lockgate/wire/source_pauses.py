"""The sources that an operator has paused, as JSON-able values.

Used by `codec`, in events, and by the coordinator's API.
"""

from lockgate.wire.events import SourcePause
from lockgate.wire.fields import Fields, Json

REASON_LIMIT = 500
"""The most characters of an operator's reason. Each event of the group carries it."""


def pause_to_json(pause: SourcePause) -> Json:
    """`by` and `reason` are left out where there are none."""
    out: Json = {"source": pause.source, "at": pause.at}
    return out | {key: text for key, text in (("by", pause.by), ("reason", pause.reason)) if text}


def pauses_from_json(taken: Fields) -> tuple[SourcePause, ...]:
    """Those of the field `paused_sources`; none where it is absent."""
    items = taken.objects("paused_sources", required=False)
    return tuple(_pause(taken.inside("paused_sources", index, item)) for index, item in enumerate(items))


def reason_from_json(value: object) -> str:
    """Return the reason in the body of a pause. Raises `InvalidMessage`."""
    taken = Fields(value)
    reason = taken.text("reason", default="", most=REASON_LIMIT)
    taken.refuse_others()
    taken.finish()
    return reason


def _pause(taken: Fields) -> SourcePause:
    return SourcePause(
        source=taken.name("source"),
        at=taken.integer("at"),
        by=taken.text("by", default="") or None,
        reason=taken.text("reason", default=""),
    )
