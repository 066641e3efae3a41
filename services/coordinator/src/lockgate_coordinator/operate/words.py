"""Times, ages and reasons in words."""

from typing import Any

from lockgate.watermark import MAX, MIN, instant
from lockgate_coordinator.sentences import span

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


def dated(time: int, now: int) -> str:
    """A time, and how long ago it was."""
    if time in (MIN, MAX):
        return "none yet" if time == MIN else "unbounded"
    age = f"{span(now - time)} ago" if time <= now else f"in {span(time - now)}"
    return f"{instant(time)} ({age})"


def rules(config: Json) -> list[tuple[str, str]]:
    """The group's rules, each with what it means; a row each."""
    rows = [
        ("mode", "observe: ceilings are shown, and hold nobody" if config["mode"] == "observe" else "enforce"),
        ("catch up", CATCH_UP[config["catch_up"]]),
        ("lost", f"a reader that is silent for {span(config['lease_ms'])} {LOST[config['on_lost_reader']]}"),
    ]
    if config["max_wait_ms"] is not None:
        rows.append(("long waits", f"after {span(config['max_wait_ms'])} {LONG_WAIT[config['on_max_wait']]}"))
    return rows
