"""Durations as Spark's users write them: `"10 minutes"`, `"1 hour 30 seconds"`; also a timedelta,
or a number of ms.
"""

import re
from datetime import timedelta

from lockgate_spark.errors import ConfigurationError

Duration = str | int | timedelta

_MS = {"week": 604_800_000, "day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000, "millisecond": 1}
_TERM = re.compile(rf"([+-]?\d+)\s*({'|'.join(_MS)})s?\b\s*")
_EXAMPLES = 'a duration such as "10 minutes" or "1 hour 30 seconds", a timedelta, or milliseconds as an int'


def milliseconds(name: str, value: Duration) -> int:
    """`value` in ms, 0 or more. Raises `ConfigurationError` that names the option `name`."""
    if isinstance(value, timedelta):
        found: int | None = value // timedelta(milliseconds=1)
    elif isinstance(value, str):
        found = _parse(value)
    else:
        found = value if isinstance(value, int) and not isinstance(value, bool) else None
    if found is None:
        raise ConfigurationError(f"{name}={value!r}: expected {_EXAMPLES}")
    if found < 0:
        raise ConfigurationError(f"{name}={value!r}: must not be negative")
    return found


def _parse(text: str) -> int | None:
    rest = text.strip().lower().removeprefix("interval ").strip()
    terms = _TERM.findall(rest)
    if not terms or _TERM.sub("", rest):
        return None
    return sum(int(number) * _MS[unit] for number, unit in terms)


def readable(ms: int) -> str:
    """`ms` in the largest unit that divides it: `"10 minutes"`."""
    unit, size = next((unit, size) for unit, size in _MS.items() if ms % size == 0)
    return f"{ms // size} {unit}{'' if ms == size else 's'}"


def spoken(ms: int) -> str:
    """`ms` for a person, to two units: `"12 min 20 s"`, `"3 h"`, `"0.4 s"`."""
    if ms < 10_000:
        return f"{ms / 1000:.1f}".removesuffix(".0") + " s"
    seconds = ms // 1000
    units = [("d", seconds // 86_400), ("h", seconds // 3600 % 24), ("min", seconds // 60 % 60), ("s", seconds % 60)]
    first = next(n for n, (_, count) in enumerate(units) if count)
    return " ".join(f"{count} {unit}" for unit, count in units[first : first + 2] if count)
