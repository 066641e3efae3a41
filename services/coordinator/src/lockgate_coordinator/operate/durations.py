"""Durations as operators type them: `30s`, `5min`, `1h 30min`, `250ms`."""

import re

import typer

from lockgate.watermark import MAX

_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_TERM = re.compile(r"(\d+)\s*(ms|s|min|m|h|d)\b\s*")


def milliseconds(value: str) -> int:
    """`value` in ms. Raises `BadParameter` for a text that is no duration."""
    terms, rest = _TERM.findall(value.strip()), _TERM.sub("", value.strip())
    if not terms or rest:
        raise typer.BadParameter(f"{value!r} is no duration: 30s, 5min, 1h 30min and 250ms are some")
    return min(MAX, sum(int(number) * _MS[unit] for number, unit in terms))
