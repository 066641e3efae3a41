"""Durations as operators type them: `30s`, `5min`, `1h 30min`, `250ms`, `10 minutes`."""

import re

import typer

from lockgate.watermark import MAX

_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_WORDS = {"m": "min", "millisecond": "ms", "second": "s", "minute": "min", "hour": "h", "day": "d"}
_TERM = re.compile(r"(\d+)\s*(ms|s|min|m|h|d|(?:millisecond|second|minute|hour|day)s?)\b\s*")


def milliseconds(value: str) -> int:
    """`value` in ms. Raises `BadParameter` for a text that is no duration."""
    terms, rest = _TERM.findall(value.strip()), _TERM.sub("", value.strip())
    if not terms or rest:
        raise typer.BadParameter(f"{value!r} is no duration: 30s, 5min, 1h 30min, 10 minutes and 250ms are some")
    return min(MAX, sum(int(number) * _MS[_unit(word)] for number, word in terms))


def _unit(word: str) -> str:
    return word if word in _MS else _WORDS[word.removesuffix("s")]
