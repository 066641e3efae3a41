"""Watermark values: 64-bit milliseconds since the Unix epoch, with an end on either side.

A watermark of t says: no record with an event time at or below t is still to come (Flink's
`Watermark`, seed 003). `MIN` is "no watermark yet", `MAX` is "will never hold anybody back".
Arithmetic saturates at both ends, and the ends themselves absorb: MAX − 10 minutes is still MAX,
for "never" does not become a date by subtracting from it.

Used by everything: the coordinator's group rules, the planner, the wire codec and the clients.
"""

from datetime import datetime, timedelta, timezone

MIN = -(2**63)
MAX = 2**63 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def add(watermark: int, milliseconds: int) -> int:
    """`watermark + milliseconds`, saturating; MIN and MAX absorb. `milliseconds` may be
    negative.
    """
    if watermark in (MIN, MAX):
        return watermark
    return max(MIN, min(MAX, watermark + milliseconds))


def iso(watermark: int) -> str:
    """ISO 8601 in UTC with milliseconds (`2026-01-01T00:00:00.000Z`); `MIN`, `MAX`, and the plain
    number beyond year 9999.
    """
    if watermark in (MIN, MAX):
        return "MIN" if watermark == MIN else "MAX"
    try:
        moment = _EPOCH + timedelta(milliseconds=watermark)
    except OverflowError:
        return str(watermark)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
