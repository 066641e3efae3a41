"""Durations in options: a string such as `"10 minutes"`, a timedelta, or a number of ms."""

from datetime import timedelta

from lockgate.duration import written
from lockgate_http.errors import ConfigurationError

Duration = str | int | timedelta

_MS = {"day": 86_400_000, "hour": 3_600_000, "minute": 60_000, "second": 1_000, "millisecond": 1}
_EXAMPLES = 'a duration such as "10 minutes" or "1 hour 30 seconds", a timedelta, or milliseconds as an int'


def milliseconds(name: str, value: Duration) -> int:
    """Return `value` in ms. If it is invalid, raise `ConfigurationError`, which names `name`."""
    if isinstance(value, timedelta):
        found: int | None = value // timedelta(milliseconds=1)
    elif isinstance(value, str):
        found = written(value)
    else:
        found = value if isinstance(value, int) and not isinstance(value, bool) else None
    if found is None:
        raise ConfigurationError(f"{name}={value!r}: expected {_EXAMPLES}")
    if found < 0:
        raise ConfigurationError(f"{name}={value!r}: must not be negative")
    return found


def as_option(ms: int) -> str:
    """Return `ms`, unrounded, as text for options, such as "5 minutes 31 seconds"."""
    parts, rest = [], ms
    for unit, size in _MS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    return " ".join(parts) or "0 seconds"
