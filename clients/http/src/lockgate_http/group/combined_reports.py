"""The reports of many queries, combined into few requests.

Only one request is in progress at a time, so that the coordinator receives requests in the order in
which they were sent. Meanwhile, other queries that want to report wait in a queue. When the request
has ended, one of them sends the current reports of all in the queue. It adds those of other queries
if they are due soon. This is "flat combining" (Hendler et al., SPAA 2010).

So a process with many queries makes only one or two requests in an update interval. A report waits
for at most one other request, unless there are too many splits for one request.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.client import CoordinatorClient, Report

PATIENCE_S = 0.5  # how long a query that ends waits for a call in progress
_MOST_SPLITS = 20_000  # in one request: some 2.5 MB, where the coordinator takes 4


class Member(Protocol):
    """A query that reports to its group."""

    def is_due(self, after_s: float) -> bool:
        """Return whether to report again, because the last answer is `after_s` seconds old, or
        because the last event may no longer hold.
        """

    def reports(self) -> list[Report]:
        """Return the current reports of the query's readers."""

    def answered(self, event: Event, asked_at: float) -> None:
        """Apply the answer to reports that were sent after `asked_at` (monotonic seconds)."""

    def on_event(self, event: Event) -> None:
        """Apply an event that answered another query's report, or that came by the event stream."""

    def invalidate(self) -> None:
        """Record that the last event may no longer hold, so the query has to report at once."""

    def renew_lease(self) -> None:
        """Repeat the query's last reports, so that its lease does not end.

        Do nothing if the query is making a plan, because the plan reports too.
        """


@dataclass(slots=True, eq=False)
class _Pending:
    """A member that wants to report. `done` is true once its reports were answered or have failed.

    `error` is the error of the request or of a rejected report, or None.
    """

    member: Member
    done: bool = False
    error: Exception | None = None


class CombinedReports:
    """A thread-safe queue of the members that want to report.

    `now` returns monotonic seconds. `due` returns the members whose reports would be due soon.
    `tell` passes an answer's event on to all members except the given ones.
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
        """Send the member's reports, together with those of others, and wait for the answer.

        Raises the error of the request, or that of the member's first rejected report. `acquired`
        explains `in_a_hurry`.
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
        """Take the members of the next request from the queue, and return them with their reports.

        `mine` comes first, however many splits it has. Other waiting members follow, and then those
        whose reports are due soon, up to `_MOST_SPLITS` splits in total.
        """
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
    """Hold `lock` during the `with` block.

    If `in_a_hurry` is true and another thread still holds `lock` after `PATIENCE_S`, interrupt the
    calls of `client` that are in progress. Their callers repeat them.
    """
    patience_s = PATIENCE_S if in_a_hurry else -1.0
    while not lock.acquire(timeout=patience_s):
        client.interrupt()
        patience_s = 0.05
    try:
        yield
    finally:
        lock.release()
