"""Many queries' reports in few requests ("flat combining", Hendler et al., SPAA 2010).

One request is under way at a time, so that the last one sent is the last one heard. Whoever comes
meanwhile waits, and then one of those sends for all who wait, and also for those who would be due
soon. What a batch says of a query is what that query knows when the batch is sent, not when it
asked. So a process with many queries that wait makes one or two requests in an update interval, and
a report waits for one other request at most.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_spark.group.client import CoordinatorClient, Report

PATIENCE_S = 0.5  # at the end of a query, with a call that is under way
_MOST_SPLITS = 20_000  # in one batch: some 2.5 MB, where the coordinator takes 8


class Member(Protocol):
    """A query in its group."""

    def is_due(self, after_s: float) -> bool:
        """Whether it has something to repeat and has not been heard for so many seconds."""

    def reports(self) -> list[Report]:
        """What its readers have to say now."""

    def answered(self, event: Event, asked_at: float) -> None:
        """Its reports were sent after `asked_at`, taken, and answered so."""

    def hear(self, event: Event) -> None:
        """The group has told this, to somebody else or to all."""

    def doubt(self) -> None:
        """What it was told may no longer hold: it is to report by itself, at once."""

    def keep(self) -> None:
        """It has not been heard for long: it is to report by itself, if it can."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A member's place in a batch. `error`: why its reports were not taken."""

    member: Member
    done: bool = False
    error: Exception | None = None


class Batches:
    """Thread-safe. `due` finds members who may as well report now; `tell` passes an answer on to
    the members not in the batch.
    """

    def __init__(
        self,
        client: CoordinatorClient,
        now: Callable[[], float],
        due: Callable[[], Sequence[Member]],
        tell: Callable[[Event, Sequence[Member]], None],
    ) -> None:
        self._client, self._now, self._due, self._tell = client, now, due, tell
        self._waiting: list[_Turn] = []
        self._sending = threading.Lock()

    def report(self, member: Member, in_a_hurry: bool = False) -> None:
        """Sends what the member has to say, with others'. Raises what it is answered instead of
        yes. `in_a_hurry`: see `acquired`.
        """
        turn = _Turn(member)
        self._waiting.append(turn)
        with acquired(self._sending, self._client, in_a_hurry):
            if not turn.done:
                self._send(turn)
        if turn.error is not None:
            raise turn.error

    def _send(self, mine: _Turn) -> None:
        turns, batch = self._batch(mine)
        asked_at = self._now()
        try:
            reported = self._client.report([report for reports in batch for report in reports])
        except Exception as error:
            for turn in turns:
                turn.done, turn.error = True, error
                turn.member.doubt()
            return
        first = 0
        for turn, reports in zip(turns, batch, strict=True):
            errors = [reported.rejected[i] for i in range(first, first + len(reports)) if i in reported.rejected]
            turn.done, turn.error = True, errors[0] if errors else None
            first += len(reports)
            if errors:
                turn.member.doubt()
            else:
                turn.member.answered(reported.alignment, asked_at)
        self._tell(reported.alignment, [turn.member for turn in turns])

    def _batch(self, mine: _Turn) -> tuple[list[_Turn], list[list[Report]]]:
        """Mine, then those that wait, then those that are due, as long as there is room."""
        waiting = [mine, *(turn for turn in self._waiting if turn is not mine)]
        asking = [turn.member for turn in waiting]
        turns: list[_Turn] = []
        batch: list[list[Report]] = []
        splits = 0
        for turn in (*waiting, *(_Turn(member) for member in self._due() if member not in asking)):
            reports = turn.member.reports()
            splits += sum(len(report.splits) for _, report in reports)
            if turns and splits > _MOST_SPLITS:
                break
            turns.append(turn)
            batch.append(reports)
        for turn in waiting:
            if turn in turns:
                self._waiting.remove(turn)
        return turns, batch


@contextmanager
def acquired(lock: threading.Lock, client: CoordinatorClient, in_a_hurry: bool) -> Iterator[None]:
    """Holds the lock. In a hurry it ends, after a moment, whatever calls are under way: who wants
    them makes them again.
    """
    patience_s = PATIENCE_S if in_a_hurry else -1.0
    while not lock.acquire(timeout=patience_s):
        client.interrupt()
        patience_s = 0.05
    try:
        yield
    finally:
        lock.release()
