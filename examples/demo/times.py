"""How times are written for people."""

from datetime import datetime, timezone

from lockgate_testbed.skew import HOUR_MS


def clock(ms: int) -> str:
    """Return an event time in ms as HH:MM (UTC), to the nearest minute: a watermark is 1 ms below
    the record that it waits for.
    """
    return datetime.fromtimestamp((ms + 30_000) // 60_000 * 60, timezone.utc).strftime("%H:%M")


def span(ms: int) -> str:
    """Return a duration in the unit in which it is easy to read."""
    if ms >= HOUR_MS:
        hours, minutes = divmod(round(ms / 60_000), 60)
        return f"{hours} h {minutes:02d} min" if minutes else f"{hours} h"
    return f"{ms / 60_000:.1f} min" if ms >= 60_000 else f"{ms / 1000:.1f} s"
