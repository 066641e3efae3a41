"""Times, durations, readers and pauses as text, as the service and the command line show them."""

from typing import Any

from lockgate.duration import spoken
from lockgate.watermark import instant

Json = dict[str, Any]


def span(ms: int | None) -> str:
    """Return the duration `ms` as text, or "–" for None."""
    return "–" if ms is None else spoken(ms)


def moment(time: int, unbounded: str = "–") -> str:
    """Return `time` (ms) in UTC to the second, "none yet" for MIN, or `unbounded` for MAX."""
    text = instant(time, "none yet", unbounded)
    return text[:19] + "Z" if text.endswith("Z") else text


def reader_name(entry: Json) -> str:
    """Return the name of the reader whose JSON is `entry` as SOURCE/SUBTASK, such as `orders/0`."""
    return f"{entry['source']}/{entry['subtask']}"


def paused_by(source: str, by: str | None, reason: str) -> str:
    """Return a sentence that says which operator (`by`, if known) has paused `source`, and why."""
    return f"{by or 'An operator'} has paused {source}" + (f": {reason.rstrip('.')}." if reason else ".")
