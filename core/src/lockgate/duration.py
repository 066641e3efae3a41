"""Conversion of durations to and from text, and the class `Duration` for `lockgate.flink`.

Flink counts a watermark's delay in milliseconds and an idle timeout in nanoseconds, both as 64-bit
integers. A `Duration` converts to both.
"""

import re
from dataclasses import dataclass

from lockgate.errors import InvalidValue
from lockgate.watermark import MAX

_WRITTEN = {
    1: "ms|milliseconds?",
    1_000: "s|seconds?",
    60_000: "min|m|minutes?",
    3_600_000: "h|hours?",
    86_400_000: "d|days?",
    604_800_000: "weeks?",
}
_TERM = re.compile(rf"([+-]?\d+)\s*(?:{'|'.join(f'({names})' for names in _WRITTEN.values())})\b\s*")
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
NANOS_PER_MILLI = 1_000_000
NANOS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in nanoseconds. It may be negative, but some functions then reject it."""

    nanos: int

    @classmethod
    def of(cls, *, seconds: int = 0, ms: int = 0, nanos: int = 0) -> "Duration":
        return cls(seconds * NANOS_PER_SECOND + ms * NANOS_PER_MILLI + nanos)

    def to_millis(self, field: str) -> int:
        """Return the duration in ms, rounded down.

        Raises `InvalidValue`, which names `field`, if the result does not fit into 64 bits.
        """
        millis = self.nanos // NANOS_PER_MILLI
        if abs(millis) > MAX:
            raise InvalidValue(field, f"must fit into 64 bits of milliseconds, not {millis}")
        return millis

    def to_nanos(self) -> int:
        """Return the duration in nanoseconds, capped at 2⁶³ − 1."""
        return min(self.nanos, MAX)

    def __str__(self) -> str:
        millis, rest = divmod(self.nanos, NANOS_PER_MILLI)
        return f"{self.nanos} ns" if rest else f"{millis} ms"


def written(text: str) -> int | None:
    """Return `text`, such as "1h 30min" or "10 minutes", in ms, or None if it is not a duration."""
    rest = text.strip().lower().removeprefix("interval ").strip()
    terms = _TERM.findall(rest)
    if not terms or _TERM.sub("", rest):
        return None
    return sum(int(number) * ms for number, *names in terms for ms, name in zip(_WRITTEN, names, strict=True) if name)


def spoken(ms: int) -> str:
    """Return the duration `ms` as text, such as "12 min 20 s" or "15.5 s".

    The text has at most two units, and is rounded towards 0. For MAX it is "for ever".
    """
    if ms >= MAX:
        return "for ever"
    if ms < 0:
        return f"-{spoken(-ms)}"
    if 0 < ms < 100:
        return f"{ms} ms"
    if ms < _MINUTE:
        return f"{ms // 100 / 10:.1f}".removesuffix(".0") + " s"
    days, hours = ms // _DAY, ms // _HOUR % 24
    minutes, seconds = ms // _MINUTE % 60, ms // _SECOND % 60
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(n for n, (count, _) in enumerate(units) if count)
    return " ".join(f"{count:,} {unit}" for count, unit in units[first : first + 2] if count)


def spoken_s(seconds: float) -> str:
    """Return `seconds` as text, as `spoken` does for milliseconds."""
    return spoken(round(seconds * 1000))
