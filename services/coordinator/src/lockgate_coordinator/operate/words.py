"""Times, ages and reasons in words."""

from typing import Any

from lockgate.duration import spoken
from lockgate.watermark import MAX, MIN, instant

Json = dict[str, Any]

CATCH_UP = {
    "strict": "strict: no reader goes further than max_drift above the lowest one",
    "joint": "joint: as strict, or as far as all readers can reach with their next batch",
}
LOST = {"exclude": "counts no longer (exclude)", "hold": "counts on, and holds the others (hold)"}
LONG_WAIT = {
    "alarm": "of waiting a reader is overdue, and is logged (alarm)",
    "proceed": "of waiting a reader goes on, and the ones it waited for do not count (proceed)",
}
SOURCES_NAMED = 3
"""How many of the readers that hold a group are named in a sentence."""


def span(ms: int | None) -> str:
    """A duration, as `spoken`; "–" for none."""
    return "–" if ms is None else spoken(ms)


def distance(group: Json) -> str:
    """How far apart the group's readers are in event time, and what that means for them now."""
    drift, config = group["drift_ms"], group["config"]
    allowed = span(config["max_drift_ms"])
    if drift is None:
        return f"not known yet; {allowed} are allowed"
    if drift <= config["max_drift_ms"]:
        return f"the readers are {span(drift)} apart; {allowed} are allowed"
    if config["mode"] == "observe":
        return f"the readers are {span(drift)} apart, above the {allowed} of max_drift; mode observe holds nobody"
    if config["catch_up"] == "strict":
        return (
            f"the readers are {span(drift)} apart, above the {allowed} of max_drift. Readers above the ceiling wait, "
            f"and those below it read on, until all are within {allowed}"
        )
    return (
        f"the readers are {span(drift)} apart, above the {allowed} of max_drift. That is allowed (joint): while "
        "there is a backlog, a reader may go as far as all readers can reach with their next batch. Readers above the "
        "ceiling wait"
    )


def moment(time: int, unbounded: str = "–") -> str:
    """A time to the second, for a table; "none yet" for MIN, `unbounded` for MAX."""
    text = instant(time, "none yet", unbounded)
    return text[:19] + "Z" if text.endswith("Z") else text


def dated(time: int, now: int) -> str:
    """A time, and how long ago it was."""
    if time in (MIN, MAX):
        return "none yet" if time == MIN else "unbounded"
    age = f"{span(now - time)} ago" if time <= now else f"in {span(time - now)}"
    return f"{instant(time)} ({age})"


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


def paused_by(paused: Json, now: int) -> str:
    """Which source an operator has paused, who, since when, and why."""
    who = "an operator" if paused["by"] is None else f"operator {paused['by']}"
    reason = f': "{paused["reason"]}"' if paused["reason"] else ""
    return f"source {paused['source']} by {who} since {dated(paused['at'], now)}{reason}"


def _placed(held: Json) -> str:
    return f"reader {holder(held)}" + (f" (split {held['split']})" if "split" in held else "")


def _listed(names: list[str]) -> str:
    if len(names) > SOURCES_NAMED:
        return f"{', '.join(names[:SOURCES_NAMED])} and {len(names) - SOURCES_NAMED} more"
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + names[-1:])


def rules(config: Json) -> list[tuple[str, str]]:
    """The group's rules, each with what it means; a row each."""
    rows = [
        ("mode", "observe: ceilings are shown, and hold nobody" if config["mode"] == "observe" else "enforce"),
        ("catch up", CATCH_UP[config["catch_up"]]),
        ("lost", f"a reader that is silent for {span(config['lease_ms'])} {LOST[config['on_lost_reader']]}"),
    ]
    if config["max_hold_ms"] is not None:
        rows.append(("long waits", f"after {span(config['max_hold_ms'])} {LONG_WAIT[config['on_max_hold']]}"))
    return rows
