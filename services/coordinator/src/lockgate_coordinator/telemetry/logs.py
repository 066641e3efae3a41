"""The log on standard output, with one line for each record of any logger, as text or as JSON.

Control characters are escaped and long texts are cut, so no record can forge a second line. Times
are in UTC, to the millisecond. A logger adds fields to a record with `extra={"fields": {…}}`.
"""

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from enum import Enum

from lockgate.duration import spoken
from lockgate.printable import printable
from lockgate.watermark import instant

LONGEST_TEXT = 256
"""The maximum number of characters of a text in a field, since a reader's owner may be longer."""

EVENT_TIMES = frozenset({"watermark", "read_limit"})
"""The fields that hold event times in ms."""

AUDIT = "lockgate.audit"
"""The logger of the audit lines, which are written at every `--log-level`."""

_PLAIN = re.compile(r"[A-Za-z0-9._:/+-]+\Z")


class LogFormat(str, Enum):
    """The format of log lines."""

    TEXT = "text"
    JSON = "json"


class LogLevel(str, Enum):
    """The lowest level of log lines that are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def install(form: LogFormat, level: LogLevel) -> None:
    """Log to standard output, in the format `form` and from `level` up. Other packages log only
    warnings and errors.
    """
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines() if form is LogFormat.JSON else TextLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("lockgate").setLevel(level.value.upper())
    logging.getLogger(AUDIT).setLevel(logging.INFO)  # a record of acts that `--log-level` could end would be none
    logging.captureWarnings(True)


class JsonLines(logging.Formatter):
    """A formatter that writes each record as a JSON object with `time`, `level`, `logger`,
    `message`, the fields, and `exception` if there is one.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. JSON escapes control characters, so that no field can end the line."""
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{key: _cut(value) for key, value in _fields(record).items()},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextLines(logging.Formatter):
    """A formatter that writes `TIME LEVEL message key=value …`, with readable durations and event
    times. Each line of a traceback begins with a bar.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of the record, followed by the lines of its traceback, if it has one."""
        fields = "".join(f" {key}={_value(_cut(value))}" for key, value in _for_a_person(record) if key != "event")
        line = f"{_time(record)} {record.levelname} {printable(record.getMessage())}{fields}"
        if record.exc_info:
            line += "".join(f"\n  | {printable(each)}" for each in self.formatException(record.exc_info).splitlines())
        return line


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, tz=timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> Mapping[str, object]:
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, Mapping) else {}


def _for_a_person(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    """Yield the name and value of each field, with readable durations and event times."""
    for key, value in _fields(record).items():
        yield (key.removesuffix("_ms") if isinstance(value, int) else key), _spoken(key, value)


def _spoken(key: str, value: object) -> object:
    if isinstance(value, Mapping):
        # of a change: {"from": …, "to": …} by the name of what has changed
        named = {inner: key if inner in ("from", "to") else str(inner) for inner in value}
        return {inner: _spoken(named[inner], each) for inner, each in value.items()}
    if isinstance(value, list):
        return [_spoken(key, each) for each in value]
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    if key.endswith("_ms"):
        return spoken(value)
    return instant(value) if key in EVENT_TIMES else value


def _cut(value: object) -> object:
    return value[:LONGEST_TEXT] + "…" if isinstance(value, str) and len(value) > LONGEST_TEXT else value


def _value(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN.match(value) else json.dumps(value, default=str)
