"""Watermark values: 64-bit milliseconds since the Unix epoch, with the ends `MIN` and `MAX`.

A watermark of t means that no record with an event time at or below t is still to come (Flink's
`Watermark`). `MIN` means "no watermark yet", `MAX` means "never limits any reader". Arithmetic
saturates at both ends, and MIN and MAX never change. So MAX − 10 minutes is still MAX: "never" does
not become a date by subtraction.
"""

from datetime import datetime, timedelta, timezone

MIN = -(2**63)
MAX = 2**63 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def add(watermark: int, milliseconds: int) -> int:
    """Return the saturated sum of `watermark` and `milliseconds`; MIN and MAX stay as they are."""
    if watermark in (MIN, MAX):
        return watermark
    return max(MIN, min(MAX, watermark + milliseconds))


def iso(watermark: int) -> str:
    """Return `watermark` in ISO 8601 (UTC, with milliseconds). Return "MIN" or "MAX" for these two
    values, and the number as text outside the years 1 to 9999.
    """
    if watermark in (MIN, MAX):
        return "MIN" if watermark == MIN else "MAX"
    try:
        moment = _EPOCH + timedelta(milliseconds=watermark)
    except OverflowError:
        return str(watermark)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def instant(watermark: int, none: str = "no event time yet", unbounded: str = "the end of all event time") -> str:
    """Return a watermark as human-readable text: `none` for MIN, `unbounded` for MAX, else the
    result of `iso`. Outside the years 1 to 9999, return "before the year 1" or "after the year
    9999".
    """
    if watermark in (MIN, MAX):
        return none if watermark == MIN else unbounded
    text = iso(watermark)
    if text.endswith("Z"):
        return text
    return "after the year 9999" if watermark > 0 else "before the year 1"
