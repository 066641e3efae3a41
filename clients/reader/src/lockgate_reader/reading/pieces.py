"""A piece that goes out to the program, record by record or at once.

The program takes the records from an iterator that is made of C's own parts, so a record costs no
line of Python. Three rules hold all the same.

* *Counted.* With each record one of the ticks goes (`repeat` knows how many are left). So what has
  gone out is known at any moment, also in the middle of the program's loop.
* *Called back.* The records are in a list of the iterator's own. Any thread may empty it; the
  iterator then ends before its next record.
* *The deadline.* Where a lease ends, the clock is looked at before each record.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from math import inf
from operator import length_hint
from typing import Any

from lockgate_reader.reading.queue import Piece


@dataclass(frozen=True, slots=True)
class GoneOut:
    """`times`: an event time for each message, ms; `NO_TIMESTAMP` where it does not take part."""

    key: tuple[str, int]
    messages: Sequence[Any]
    times: Sequence[int]


class GoingOut:
    """One piece on its way. `until`: its deadline by `now_s`, in seconds. `whole`: it goes at
    once.
    """

    __slots__ = ("_messages", "_ticks", "piece", "records")

    def __init__(self, piece: Piece, until: float, now_s: Callable[[], float], *, whole: bool = False) -> None:
        self.piece = piece
        self._messages = [] if whole else piece.records.messages[piece.records.at : piece.end]
        self._ticks = repeat(True, 0 if whole else piece.count)
        messages = iter(self._messages)
        self.records: Iterator[Any] = compress(
            messages if until == inf else _before(until, now_s, messages), self._ticks
        )

    @property
    def count(self) -> int:
        """How many records have gone out."""
        return self.piece.count - length_hint(self._ticks)

    def call_back(self) -> None:
        """Keep the rest from going out; call it from any thread."""
        self._messages.clear()


def _before(until: float, now_s: Callable[[], float], messages: Iterator[Any]) -> Iterator[Any]:
    for message in messages:
        if now_s() >= until:
            return
        yield message
