"""Sentences for the dashboard and the CLI that say for which readers a group waits, and why."""

from collections.abc import Sequence

from lockgate.sentences import moment, reader_name, span
from lockgate.watermark import MAX, MIN
from lockgate.wire.fields import Json

SOURCES_NAMED = 3
"""The maximum number of blockers or missing sources that a sentence names."""

SLOW_MS = 10_000
"""The time without progress (ms) after which a sentence mentions it."""

UP_MS = 60_000
"""A reader has caught up if its watermark is less than this time (ms) behind the clock."""


def waits_for(event: Json, missing: Sequence[str], *, observes: bool) -> str:
    """Return a sentence that names the readers for which the group waits, and the read limit.

    `event` is the JSON of the group's event. `missing` names the expected sources that have not
    reported. `observes` is true if the limit is shown, but not enforced.
    """
    if missing:
        return f"All readers wait for the first report of {_listed(missing)}, expected by the configuration."
    if not event["blocked_by"]:
        started = event["group_watermark"] != MIN
        why = "all readers are idle, finished, lost or gone." if started else "none has reported yet."
        return f"No reader waits: {why}"
    names = [
        reader_name(each) + (f" (partition {each['split']})" if each["split"] is not None else "")
        for each in event["blocked_by"]
    ]
    ceiling = event["max_desired_watermark"] if event["would_be"] is None else event["would_be"]
    limit = "" if ceiling == MAX else f"; read limit {moment(ceiling)}"
    waits = "Would wait" if observes else "Waiting"
    return f"{waits} for {_listed(names)} at {moment(event['group_watermark'])}{limit}."


def _listed(names: Sequence[str]) -> str:
    if len(names) > SOURCES_NAMED:
        return f"{', '.join(names[:SOURCES_NAMED])} and {len(names) - SOURCES_NAMED} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def why_blocked(reader: Json, name: str, lease_ms: int) -> str:
    """Return a sentence that explains why a reader that blocks its group is behind.

    Args:
        reader: The reader's JSON in the inspection, with the added `behind_ms`, the difference
            between the clock and the reader's watermark.
        name: The reader's name.
        lease_ms: The lease of the group.
    """
    name, age = f"Reader {name}", reader["progress_age_ms"]
    if reader["state"] == "lost":
        return f"{name} is lost, and still counts until it returns or is evicted (on_lost_reader: hold)."
    if reader["state"] == "parked":
        return f"{name} is parked: its next run should report by {reader['parked_until_iso']}."
    if reader["state"] == "registered":
        return f"{name} has registered, but has not reported yet."
    if age is not None and age > lease_ms:
        return f"{name} keeps its lease, but has made no progress for {span(age)}."
    if age is not None and age >= SLOW_MS:
        return f"{name} reads: its last progress was {span(age)} ago."
    return f"{name} reads{_outlook(reader)}."


def _outlook(reader: Json) -> str:
    """Return the end of a sentence on how fast a reader reads, and when it will catch up. It is
    empty if the reader's rate or its `behind_ms` is unknown.
    """
    rate, behind = (reader["facts"] or {}).get("event_time_rate"), reader["behind_ms"]
    if rate is None or behind is None:
        return ""
    if behind < UP_MS:
        return ", and has caught up"
    late = f"it is {span(behind)} behind the clock"
    if rate == 0:
        return f", but its watermark does not rise: {late}"
    speed = f" {_speed(rate)} s of event time per second: {late}"
    if rate <= 1000:
        return f"{speed}, and does not catch up at this rate"
    left = behind * 1000 // (rate - 1000)
    rough = left - left % 60_000 if left >= 60_000 else left  # an estimate in minutes shows no seconds
    return f"{speed}, and will catch up in about {span(rough)} at this rate"


def _speed(rate: int) -> str:
    return f"{rate / 1000:,.0f}" if rate >= 10_000 else f"{rate / 1000:.2g}"


def lost_readers(names: list[str], count: int) -> str:
    """Return a sentence saying that `count` lost readers are now ignored. `names` lists the first
    few.
    """
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return f"Lost, and no longer counted: {', '.join(names)}{more}."
