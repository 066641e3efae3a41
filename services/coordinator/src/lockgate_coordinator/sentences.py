"""Who holds a group, and why, in sentences: the inspection's answer has them for the dashboard, and
the command line says the same.
"""

from typing import Any

from lockgate.duration import spoken
from lockgate.watermark import MAX, MIN, instant

Json = dict[str, Any]

SOURCES_NAMED = 3
"""How many of the readers that hold a group are named in a sentence."""

SLOW_MS = 10_000
"""From here on a sentence says how long ago a reader moved."""

UP_MS = 60_000
"""A reader that is no further behind the clock is up with it."""


def span(ms: int | None) -> str:
    """A duration, as `spoken`; "–" for none."""
    return "–" if ms is None else spoken(ms)


def moment(time: int, unbounded: str = "–") -> str:
    """A time to the second, for a table; "none yet" for MIN, `unbounded` for MAX."""
    text = instant(time, "none yet", unbounded)
    return text[:19] + "Z" if text.endswith("Z") else text


def holder(held: Json) -> str:
    """Reader 0 of source orders is "orders/0"."""
    return f"{held['source']}/{held['subtask']}"


def who_holds(group: Json) -> str:
    """One sentence: the readers that hold the group, and its watermark."""
    event = group["alignment"]
    would = "would be" if group["config"]["mode"] == "observe" else "is"
    if group["waiting_for"]:
        return (
            f"Everybody waits for the first report of {_listed(group['waiting_for'])}, expected by the configuration."
        )
    if not event["blocked_by"]:
        started = event["group_watermark"] != MIN
        return f"Nobody {would} held: " + (
            "all readers are idle, finished, lost or gone." if started else "no reader has reported yet."
        )
    names = [_placed(held) for held in event["blocked_by"]]
    ceiling = event.get("would_be", event["max_desired_watermark"])
    limit = (
        "" if ceiling == MAX else f"; nobody {'would go' if would == 'would be' else 'goes'} beyond {moment(ceiling)}"
    )
    return f"The group {would} held by {_listed(names)} at {moment(event['group_watermark'])}{limit}."


def _placed(held: Json) -> str:
    return f"reader {holder(held)}" + (f" (split {held['split']})" if "split" in held else "")


def _listed(names: list[str]) -> str:
    if len(names) > SOURCES_NAMED:
        return f"{', '.join(names[:SOURCES_NAMED])} and {len(names) - SOURCES_NAMED} more"
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + names[-1:])


def why_held(held: Json, reader: Json, config: Json) -> str:
    """What keeps the first reader that holds the group, in one sentence. `held`: the event's entry;
    `reader`: its part of the inspection, and `behind_ms`, how far it is behind the clock.
    """
    name, age = f"Reader {holder(held)}", reader["progress_age_ms"]
    if reader["state"] == "lost":
        return f"{name} is lost: it is silent, and counts on until it is back or evicted (on_lost_reader: hold)."
    if reader["state"] == "parked":
        return f"{name} is parked: its next run should report by {reader['parked_until_iso']}."
    if reader["state"] == "registered":
        return f"{name} has registered, and has not reported yet."
    if age is not None and age > config["lease_ms"]:
        return f"Nothing of {name[0].lower()}{name[1:]} has moved for {span(age)}, though it keeps its lease."
    if age is not None and age >= SLOW_MS:
        return f"{name} reads on: its last step was {span(age)} ago."
    return f"{name} reads on{_outlook(reader)}."


def _outlook(reader: Json) -> str:
    """How fast a reader drains, and until when; no time where its watermark does not rise, or not
    faster than the clock.
    """
    pace, behind = (reader["facts"] or {}).get("pace"), reader["behind_ms"]
    if pace is None or behind is None:
        return ""
    if behind < UP_MS:
        return ", and is up with the clock"
    late = f"it is {span(behind)} behind the clock"
    if pace == 0:
        return f", but its watermark does not rise: {late}, and there is no estimate"
    speed = f", at {_speed(pace)} event seconds a second: {late}"
    if pace <= 1000:
        return f"{speed}, and does not catch up at this pace"
    left = behind * 1000 // (pace - 1000)
    rough = left - left % 60_000 if left >= 60_000 else left  # an estimate has no seconds beside its minutes
    return f"{speed}, and catches up in about {span(rough)} if the pace stays"


def _speed(pace: int) -> str:
    return f"{pace / 1000:,.0f}" if pace >= 10_000 else f"{pace / 1000:.2g}"


def lost_readers(names: list[str], count: int) -> str:
    """Lost readers of a group that counts them no more, `names` of `count`."""
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return f"Lost, and no longer counted: {', '.join(names)}{more}."


def paused_by(source: str, by: str | None, reason: str) -> str:
    """An operator's pause of a source, in one sentence."""
    return f"{by or 'An operator'} has paused {source}" + (f": {reason.rstrip('.')}." if reason else ".")


def assigned_splits(source: str, counts: Json) -> str:
    """How the splits of a source with an enumerator are assigned, in one sentence."""
    total = sum(counts.values())
    others = [f"{counts[state]:,} {state}" for state in ("revoking", "unassigned", "missing", "finished")]
    more = [text for text in others if not text.startswith("0 ")]
    return f"{source}: {counts['assigned']:,} of {total:,} splits assigned" + (f", {', '.join(more)}." if more else ".")
