"""The place of a reader in a group: it reports the reader's progress, and gets the read limit.

**Threads.** A `Membership` sends the reports, as for a Spark query. It runs on a thread of this
place, so that the thread that reads does not wait for the network. A report is sent as soon as
something that other readers wait for has changed, and at least every update interval.

**Numbers of readers.** Each process is one reader of the source, and has its own number, the
subtask. This is the lowest unused number. If another process has taken the number, because this one
was stopped for long, it takes a different one.

**Outages.** The ceiling is that of `on_outage`, as for a query.

`joined` adds the splits that the coordinator assigns. Without it, the reader gets its splits from
elsewhere, such as Kafka's consumer group (`from_kafka`).
"""

import logging
import threading
from collections.abc import Callable, Sequence
from math import inf

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.answers import Busy, Interrupted, Unreachable
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds
from lockgate_http.errors import Fenced
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import ASK_AGAIN_S, Coordination
from lockgate_reader.clock import now_s
from lockgate_reader.group.holdings import Said
from lockgate_reader.group.standing import UNKNOWN, standing
from lockgate_reader.group.subtasks import Identity, free_subtask
from lockgate_reader.place import Orders, Place, ReaderSplit, ReaderState

log = logging.getLogger("lockgate")

_END_S = 5.0  # the wait for the thread's end: longer than a call and its retries
_NONE_YET = Orders(ceiling=MIN, until=-inf, waits_for="the coordinator")


class ReportingPlace(Place):
    """The place of a reader that reports to its group. `now` returns monotonic seconds."""

    settled = True
    """Whether the reader has all splits that it gets for now."""

    def __init__(
        self, coordinator: Coordinator, agreement: Agreement, identity: Identity, *, now: Callable[[], float] = now_s
    ) -> None:
        self._coordinator, self._agreement, self._identity, self._now = coordinator, agreement, identity, now
        self._subtask: int | None = None
        self._session = GroupSession.joined(coordinator)
        self._membership = self._member()
        self._status = UNKNOWN
        self._said, self._said_at = Said(ReaderState()), now()
        most = coordinator.max_batch
        self._silence_s = inf if most is None else milliseconds("Coordinator(max_batch)", most) / 1000
        self._orders = _NONE_YET
        self._failed: Exception | None = None
        self._poked = self._closed = self._abandoned = False
        self._wake: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=f"lockgate-{identity.source}", daemon=True)

    @property
    def subtask(self) -> int | None:
        """Return the reader's number; None before it has one."""
        return self._subtask

    # -- for the consumer, on the thread that reads --

    def enter(self, wake: Callable[[], None]) -> None:
        """Start a thread that joins the group. It calls `wake` when new `Orders` arrive."""
        self._wake = wake
        self._thread.start()

    def exchange(self, state: ReaderState) -> Orders:
        """Keep `state` for the next report, and return the newest `Orders`.

        Raises the error that ended the reader, if there is one.
        """
        said = Said(state, tuple(state.held()))
        with self._session.changed:
            if self._failed is not None:
                raise self._failed
            self._said, self._said_at, self._poked = said, self._now(), True
            self._session.changed.notify_all()
            return self._given(said)

    def leave(self, state: ReaderState) -> None:
        """Stop the background thread, and leave the group."""
        with self._session.changed:
            if self._closed:
                return
            self._closed = True
            self._session.changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_END_S)
        self._leave(Said(state, tuple(state.held())))

    def abandon(self) -> None:
        """Let the background thread leave the group."""
        self._abandoned = True

    # -- on the place's own thread --

    def _run(self) -> None:
        while True:
            with self._session.changed:
                self._session.changed.wait_for(self._has_work, self._pause_s())
                if self._closed:
                    return
                said, silent_s, self._poked = self._said, self._now() - self._said_at, False
            if self._abandoned:
                log.warning(
                    "group %s: a consumer of %s was not closed, so its partitions are given back now; call "
                    "close(), or use `with`",
                    self._session.group,
                    self._identity.source,
                )
                self._leave(said)
                return
            if self._failed is not None or silent_s > self._silence_s:
                continue  # it has failed; or the user's program takes too long over a record, and loses its lease
            try:
                self._round(said)
            except Interrupted:
                continue
            except Exception as error:
                self._fail(error)

    def _has_work(self) -> bool:
        return self._closed or self._poked or self._membership.has_news

    def _pause_s(self) -> float:
        return ASK_AGAIN_S if self._session.outage.lasts else self._session.update_interval_s

    def _round(self, said: Said) -> None:
        """Report if it is due, call `_exchange`, and store the new orders. Wake the reader if they
        changed.
        """
        before = self._orders
        self._status = standing(
            said,
            self._status,
            returning=self._returning(said),
            settled=self.settled,
            disorder=self._agreement.disorder,
            joint=self._membership.joint,
        )
        ceiling = self._report()
        if self._status.watermark == MIN and not self._status.idle:
            ceiling = MIN  # the group does not know yet where this reader is
        orders = self._exchange(said, Orders(ceiling=ceiling, waits_for=self._waits_for()))
        with self._session.changed:
            self._orders = orders
        if orders != before:
            self._wake()

    def _report(self) -> int:
        """Report, and return the ceiling. If the subtask is taken, report under another one."""
        while True:
            if self._subtask is None:
                try:
                    self._subtask = free_subtask(self._session.client, self._identity.source)
                except Unreachable:
                    self._subtask = 0
            try:
                return self._membership.exchange({self._subtask: self._status})
            except Busy:
                self._subtask += 1  # another process was quicker
            except Fenced as error:
                log.info(
                    "group %s: %s. This consumer joins the group again as another reader", self._session.group, error
                )
                self._rejoin()

    def _rejoin(self) -> None:
        self._session = GroupSession.joined(self._coordinator)
        former, self._membership, self._subtask = self._membership, self._member(), None
        former.close()

    def _member(self) -> Membership:
        who = self._identity
        return Membership(self._session, self._coordinator, self._agreement, who.source, who.run, who.run)

    def _waits_for(self) -> str:
        if self._membership.coordination is Coordination.HOLDING or self._membership.last is None:
            return "the coordinator"
        if self._membership.paused is not None:
            return "an operator"
        return _blocker(self._membership.last)

    def _leave(self, said: Said) -> None:
        if said.state.ended and not said.held and self._subtask is not None:
            self._membership.close({self._subtask: self._status})
        else:
            self._membership.leave()

    def _fail(self, error: Exception) -> None:
        with self._session.changed:
            self._failed = error
        self._wake()

    # -- what `joined` adds --

    def _given(self, said: Said) -> Orders:
        """Return the orders for the consumer. The caller holds the session's lock."""
        return self._orders

    def _returning(self, said: Said) -> Sequence[ReaderSplit]:
        """Return the splits that the consumer no longer holds, but that are still reported."""
        return ()

    def _exchange(self, said: Said, orders: Orders) -> Orders:
        """Make the exchanges that are due besides the report, and return the completed `orders`."""
        return orders


def _blocker(event: Event) -> str:
    if not event.blocked_by:
        return "" if event.max_desired_watermark == MAX else "the group"
    blocker = event.blocked_by[0]
    reader = f"reader {blocker.source}/{blocker.subtask}"
    return reader if blocker.split is None else f"partition {blocker.split} of {reader}"
