"""The reports of many queries, combined into few requests ("flat combining", Hendler et al., SPAA
2010).

One request is under way at a time, so that the last one sent is the last one received. Queries that
want to report meanwhile wait. Then one of them sends the reports of all that wait, and of those
that would be due soon, as of that moment. So a process with many waiting queries makes one or two
requests in an update interval, and a report waits for one other request at most.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.client import CoordinatorClient, Report

PATIENCE_S = 0.5  # at the end of a query, with a call that is under way
_MOST_SPLITS = 20_000  # in one request: some 2.5 MB, where the coordinator takes 4


class Member(Protocol):
    """A query in its group."""

    def is_due(self, after_s: float) -> bool:
        """Return whether a report that was answered `after_s` seconds ago should be repeated."""

    def reports(self) -> list[Report]:
        """Return the reports of its readers as of now."""

    def answered(self, event: Event, asked_at: float) -> None:
        """Take in the answer to its reports, which were sent after `asked_at`."""

    def on_event(self, event: Event) -> None:
        """Take in news that the group announced to another query, or to all."""

    def invalidate(self) -> None:
        """Record that the last event may no longer hold, so the query has to report at once."""

    def renew_lease(self) -> None:
        """Make the query report by itself, if it can, since it has not done so for long."""


@dataclass(slots=True, eq=False)
class _Pending:
    """A member that wants to report. `error` says why its reports were not accepted."""

    member: Member
    done: bool = False
    error: Exception | None = None


class CombinedReports:
    """The queue of the members that want to report, thread-safe. `due` finds members that may as
    well report now. `tell` passes an answer on to the members that were not in the request.
    """

    def __init__(
        self,
        client: CoordinatorClient,
        now: Callable[[], float],
        due: Callable[[], Sequence[Member]],
        tell: Callable[[Event, Sequence[Member]], None],
    ) -> None:
        self._client, self._now, self._due, self._tell = client, now, due, tell
        self._waiting: list[_Pending] = []
        self._sending = threading.Lock()

    def report(self, member: Member, in_a_hurry: bool = False) -> None:
        """Send the member's reports, together with others. Raises the error of an answer that is
        not a success. `acquired` explains `in_a_hurry`.
        """
        mine = _Pending(member)
        self._waiting.append(mine)
        with acquired(self._sending, self._client, in_a_hurry):
            if not mine.done:
                self._send(mine)
        if mine.error is not None:
            raise mine.error

    def _send(self, mine: _Pending) -> None:
        sending, reports_of_each = self._combine(mine)
        asked_at = self._now()
        try:
            reported = self._client.report([report for reports in reports_of_each for report in reports])
        except Exception as error:
            for pending in sending:
                pending.done, pending.error = True, error
                pending.member.invalidate()
            return
        first = 0
        for pending, reports in zip(sending, reports_of_each, strict=True):
            errors = [reported.rejected[i] for i in range(first, first + len(reports)) if i in reported.rejected]
            pending.done, pending.error = True, errors[0] if errors else None
            first += len(reports)
            if errors:
                pending.member.invalidate()
            else:
                pending.member.answered(reported.alignment, asked_at)
        self._tell(reported.alignment, [pending.member for pending in sending])

    def _combine(self, mine: _Pending) -> tuple[list[_Pending], list[list[Report]]]:
        """Return `mine`, then the waiting ones, then the due ones, as long as there is room."""
        waiting = [mine, *(pending for pending in self._waiting if pending is not mine)]
        asking = [pending.member for pending in waiting]
        sending: list[_Pending] = []
        reports_of_each: list[list[Report]] = []
        splits = 0
        for pending in (*waiting, *(_Pending(member) for member in self._due() if member not in asking)):
            reports = pending.member.reports()
            splits += sum(len(report.splits) for _, report in reports)
            if sending and splits > _MOST_SPLITS:
                break
            sending.append(pending)
            reports_of_each.append(reports)
        for pending in waiting:
            if pending in sending:
                self._waiting.remove(pending)
        return sending, reports_of_each


@contextmanager
def acquired(lock: threading.Lock, client: CoordinatorClient, in_a_hurry: bool) -> Iterator[None]:
    """Hold the lock. If `in_a_hurry`, interrupt the calls in progress, which are repeated."""
    patience_s = PATIENCE_S if in_a_hurry else -1.0
    while not lock.acquire(timeout=patience_s):
        client.interrupt()
        patience_s = 0.05
    try:
        yield
    finally:
        lock.release()
