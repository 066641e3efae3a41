"""Fetched records: consecutive ones of one split, as they were fetched, with their event times.
Pure.

A record goes out if its event time is not above the ceiling. In a split records go out in the order
of their offsets, so the first record above the ceiling keeps all behind it back. That all of
them may go out is one comparison, with its highest event time.

An event time that is not credible does not take part: Kafka's -1, and what lies further ahead of
the clock than `future_bound`. Such a record goes out with its neighbours. In `times` it stands as
`NO_TIMESTAMP`, which is below every ceiling and raises no watermark.
"""

from collections.abc import Sequence
from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP


class FetchedRecords:
    """Records of one split, in the order of their offsets, the first `at` of which are gone.
    `times`: an event time for each, ms. `highest`: the highest of them.
    """

    __slots__ = ("at", "highest", "messages", "times")

    def __init__(self, messages: list[Any], times: list[int], highest: int | None = None) -> None:
        self.messages = messages
        self.times = times
        self.highest = max(times) if highest is None else highest
        self.at = 0

    @property
    def left(self) -> int:
        """How many records are still to go out."""
        return len(self.messages) - self.at

    def admitted(self, ceiling: int, most: int) -> int:
        """Up to where the records may go out, `most` at once: an index, `at` for none."""
        end = min(len(self.messages), self.at + most)
        if self.highest <= ceiling:
            return end
        times = self.times
        return next((place for place in range(self.at, end) if times[place] > ceiling), end)


def credible(
    messages: list[Any], times: list[int], latest: int | None, *, all_stamped: bool
) -> tuple[FetchedRecords, int]:
    """Return fetched records with `NO_TIMESTAMP` for each event time that does not take part, and
    how many those are.

    `latest`: the highest that takes part, in ms; None for no bound. `all_stamped`: no time is below
    0.
    """
    highest = max(times)
    if all_stamped and (latest is None or highest <= latest):
        return FetchedRecords(messages, times, highest), 0
    kept = [time if time >= 0 and (latest is None or time <= latest) else NO_TIMESTAMP for time in times]
    return FetchedRecords(messages, kept), kept.count(NO_TIMESTAMP)


def first_at(messages: Sequence[Any], offset: int) -> int:
    """Return the index of the first message at `offset` or behind it. Offsets rise."""
    low, high = 0, len(messages)
    while low < high:
        middle = (low + high) // 2
        if messages[middle].offset() < offset:
            low = middle + 1
        else:
            high = middle
    return low
