"""Times, ages and reasons in words."""

from itertools import pairwise
from typing import Any

from lockgate.watermark import MAX, MIN, iso

Json = dict[str, Any]

UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000))
SOURCES_NAMED = 3
"""How many of the readers that hold a group are named in a sentence."""


def span(ms: int | None) -> str:
    """A duration in its two largest units: "2h05m", "3.2s", "40ms"; "–" for none."""
    if ms is None:
        return "–"
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    if ms < 1_000:
        return f"{sign}{ms}ms" if ms else "0s"
    if ms < 10_000:
        return f"{sign}{ms / 1000:.1f}s"
    for (name, unit), (below, less) in pairwise(UNITS):
        if ms >= unit:
            return f"{sign}{ms // unit}{name}{ms % unit // less:02}{below}"
    return f"{sign}{ms // 1_000}s"


def moment(time: int, unbounded: str = "–") -> str:
    """A time to the second, for a table; "none yet" for MIN, `unbounded` for MAX."""
    if time in (MIN, MAX):
        return "none yet" if time == MIN else unbounded
    text = iso(time)
    return text[:19] + "Z" if text.endswith("Z") else text


def dated(time: int, now: int) -> str:
    """A time, and how long ago it was."""
    if time == MIN:
        return "none yet"
    if time == MAX:
        return "unbounded"
    return f"{iso(time)} ({span(now - time)} ago)" if time <= now else f"{iso(time)} (in {span(time - now)})"


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
    if not event["held_by"]:
        started = event["group_watermark"] != MIN
        return f"Nobody {would} held: " + (
            "all readers are idle, finished, lost or gone." if started else "no reader has reported yet."
        )
    names = [_placed(held) for held in event["held_by"]]
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
