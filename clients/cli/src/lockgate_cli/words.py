"""Functions that put a group's times, distances and rules into words."""

from lockgate.sentences import span
from lockgate.watermark import MAX, MIN, instant
from lockgate.wire.fields import Json

CATCH_UP = {
    "strict": "strict: no reader reads further than max_drift above the slowest one",
    "joint": "joint: like strict, or as far as all readers can get with their next batch",
}
LOST = {"exclude": "no longer counts (exclude)", "hold": "still counts, so the others wait (hold)"}
LONG_WAIT = {
    "alarm": "of waiting a reader is logged as overdue (alarm)",
    "proceed": "of waiting a reader reads on, and the ones it waited for no longer count (proceed)",
}


def distance(group: Json) -> str:
    """Return a sentence on the current drift, the allowed drift, and whether readers wait."""
    drift, config = group["drift_ms"], group["config"]
    allowed = span(config["max_drift_ms"])
    if drift is None:
        return f"not known yet; max_drift is {allowed}"
    if drift <= config["max_drift_ms"]:
        return f"the readers are {span(drift)} apart; max_drift is {allowed}"
    if config["mode"] == "observe":
        return f"the readers are {span(drift)} apart, above the max_drift of {allowed}; in observe mode no reader waits"
    if config["catch_up"] == "strict":
        return (
            f"the readers are {span(drift)} apart, above the max_drift of {allowed}. Readers above the read limit "
            f"wait until the others are within {allowed}"
        )
    return (
        f"the readers are {span(drift)} apart, above the max_drift of {allowed}. That is allowed (joint): during a "
        "backlog, a reader may read as far as all readers can get with their next batch. Readers above the read "
        "limit wait"
    )


def dated(time: int, now: int) -> str:
    """Return a time with its distance from `now`, such as "2026-11-25T14:08:04.000Z (3 s ago)".
    Both arguments are in ms. Return "none yet" for the time MIN, and "unbounded" for MAX.
    """
    if time in (MIN, MAX):
        return "none yet" if time == MIN else "unbounded"
    age = f"{span(now - time)} ago" if time <= now else f"in {span(time - now)}"
    return f"{instant(time)} ({age})"


def event_time_rate(ms: int) -> str:
    """Return a rate (ms of event time per second) as a multiple of the clock's, such as "2×"."""
    return f"{ms / 1000:,.0f}×" if ms >= 100_000 else f"{ms / 1000:.3g}×"


def rules(config: Json) -> list[tuple[str, str]]:
    """Return the rules in a group's configuration, each as a name and an explanation."""
    rows = [
        ("mode", "observe: read limits are shown, but no reader waits" if config["mode"] == "observe" else "enforce"),
        ("catch up", CATCH_UP[config["catch_up"]]),
        ("lost", f"a reader that is silent for {span(config['lease_ms'])} {LOST[config['on_lost_reader']]}"),
    ]
    if config["max_wait_ms"] is not None:
        rows.append(("long waits", f"after {span(config['max_wait_ms'])} {LONG_WAIT[config['on_max_wait']]}"))
    return rows


def assigned_splits(source: str, counts: Json) -> str:
    """Return a sentence on how many partitions of a source are assigned, from `counts` by state."""
    total = sum(counts.values())
    others = [f"{counts[state]:,} {state}" for state in ("revoking", "unassigned", "missing", "finished")]
    more = [text for text in others if not text.startswith("0 ")]
    return f"{source}: {counts['assigned']:,} of {total:,} partitions assigned" + (
        f", {', '.join(more)}." if more else "."
    )
