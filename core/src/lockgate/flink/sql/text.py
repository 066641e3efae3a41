"""A watermark strategy in text, as SQL writes it.

    FOR ts AS ts                                      the highest time seen
    FOR ts AS ts - INTERVAL '5' SECOND                the same, less 5 s
    WATERMARK FOR ts AS ts - INTERVAL '0.5' MINUTE - INTERVAL '250' MILLISECOND

    clause   = [ WATERMARK ] FOR column AS column { "-" INTERVAL "'" number "'" unit }
    unit     = MILLISECOND | SECOND | MINUTE | HOUR | DAY          singular or plural, in any case
    column   = a name, `anything` in back quotes, or a path of them with dots for nested columns

The delay counts as SQL counts it: a row exactly that late *is* late
(`lockgate.flink.sql.strategies`). Anything else (other expressions, another column) is refused, and
the error shows the place.

Used by the tests; meant for every strategy that comes as text.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from lockgate.duration import NANOS_PER_MILLI, NANOS_PER_SECOND, Duration
from lockgate.errors import InvalidValue
from lockgate.flink.elements import Record
from lockgate.flink.sql.arithmetic import wrapped
from lockgate.flink.sql.strategies import BoundedOutOfOrderTimestamps
from lockgate.flink.strategy import WatermarkStrategy

_UNITS = {
    "MILLISECOND": NANOS_PER_MILLI,
    "SECOND": NANOS_PER_SECOND,
    "MINUTE": 60 * NANOS_PER_SECOND,
    "HOUR": 3_600 * NANOS_PER_SECOND,
    "DAY": 86_400 * NANOS_PER_SECOND,
}
_TOKEN = re.compile(r"\s*(?:(?P<word>[^\W\d]\w*)|`(?P<quoted>[^`]+)`|'(?P<literal>[^']*)'|(?P<sign>\S))")


class SqlBoundedOutOfOrderness:
    """A row's watermark for SQL's watermark assigner: its time − delay, wrapping around below 64
    bits as Flink's does.
    """

    def __init__(self, delay_ms: int, event_time: Callable[[Record], int | None]) -> None:
        self._delay_ms = delay_ms
        self._event_time = event_time

    def watermark_of(self, record: Record) -> int:
        """Return the watermark of a row. Raises `InvalidValue` for a row without a time."""
        timestamp = self._event_time(record)
        if timestamp is None:
            raise InvalidValue("event time", "must not be null: convert the column to one that never is")
        return wrapped(timestamp - self._delay_ms)


@dataclass(frozen=True, slots=True)
class WatermarkClause:
    """The content of a clause: the column (a path) and the delay."""

    column: tuple[str, ...]
    delay: Duration

    def event_time(self, row: object) -> int | None:
        """Return the column's value in a row (a mapping, or an object with fields). Raises
        `InvalidValue` if it is missing or no number.
        """
        value: object = row
        for name in self.column:
            if isinstance(value, Mapping):
                value = value[name] if name in value else _missing(self.column, value)
            else:
                value = getattr(value, name) if hasattr(value, name) else _missing(self.column, value)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise InvalidValue(".".join(self.column), f"must be an integer in ms, not {value!r}")
        return value

    def strategy(self, every_rows: int | None = None) -> WatermarkStrategy:
        """Return a strategy that takes event times from the column; `every_rows` emits by count as
        well as by time.
        """
        generators = WatermarkStrategy.for_generator(lambda: BoundedOutOfOrderTimestamps(self.delay, every_rows))
        return generators.with_timestamp_assigner(self._assign)

    def row_watermark(self) -> SqlBoundedOutOfOrderness:
        """Return the same clause for SQL's watermark assigner in mid-stream."""
        return SqlBoundedOutOfOrderness(self.delay.to_millis("delay"), lambda record: self.event_time(record.value))

    def _assign(self, value: object, timestamp: int) -> int:
        event_time = self.event_time(value)
        if event_time is None:
            raise InvalidValue(".".join(self.column), "must not be null: convert it to one that never is")
        return event_time


def parse_watermark_clause(text: str) -> WatermarkClause:
    """Return the clause in `text`. Raises `InvalidValue`, which shows the place that cannot be
    read.
    """
    return _Parser(text).clause()


def _missing(column: tuple[str, ...], row: object) -> object:
    raise InvalidValue(".".join(column), f"is not in the row {row!r}")


class _Parser:
    """Reads the clause from left to right, and looks one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def clause(self) -> WatermarkClause:
        if self._peek_word() == "WATERMARK":
            self._take()
        self._keyword("FOR")
        column = self._column()
        self._keyword("AS")
        start = self._at
        if self._column() != column:
            self._at = start
            raise self._error(
                f"the column of FOR again ({'.'.join(column)}): watermarks of another column are not supported"
            )
        delay = 0
        while self._peek() is not None:
            self._sign("-", "`- INTERVAL …` or the end")
            delay += self._interval()
        return WatermarkClause(column, Duration(delay))

    def _column(self) -> tuple[str, ...]:
        path = [self._name()]
        while self._peek() is not None and self._text[self._peek_start()] == ".":
            self._take()
            path.append(self._name())
        return tuple(path)

    def _name(self) -> str:
        token = self._peek()
        name = token and (token["word"] or token["quoted"])
        if not name:
            raise self._error("the name of a column")
        self._take()
        return name

    def _interval(self) -> int:
        self._keyword("INTERVAL")
        token = self._peek()
        literal = None if token is None else token["literal"]
        if literal is None or not re.fullmatch(r"\d+(\.\d+)?", literal):
            raise self._error("a number of 0 or more in quotes, as in INTERVAL '5' SECOND")
        self._take()
        unit = self._peek_word()
        nanos = _UNITS.get(unit.removesuffix("S"))
        if nanos is None:
            raise self._error(f"a unit: {', '.join(_UNITS)}")
        self._take()
        return int(Decimal(literal) * nanos)

    def _keyword(self, word: str) -> None:
        if self._peek_word() != word:
            raise self._error(word)
        self._take()

    def _sign(self, sign: str, expectation: str) -> None:
        token = self._peek()
        if token is None or token["sign"] != sign:
            raise self._error(expectation)
        self._take()

    def _peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self._text, self._at)

    def _peek_word(self) -> str:
        token = self._peek()
        return (token["word"] or "").upper() if token else ""

    def _peek_start(self) -> int:
        rest = self._text[self._at :]
        return self._at + len(rest) - len(rest.lstrip())

    def _take(self) -> None:
        token = self._peek()
        self._at = self._at if token is None else token.end()

    def _error(self, expectation: str) -> InvalidValue:
        token = self._peek()
        found = "the end" if token is None else repr(token.group().strip())
        at = self._peek_start()
        return InvalidValue("watermark clause", f"expected {expectation}, found {found}\n  {self._text}\n  {' ' * at}^")
