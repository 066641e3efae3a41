"""The place (`lockgate_reader.place`) of a reader in an alignment group, which reports the reader's
progress to the coordinator and gets the read limit.

**Threads.** A `Membership` sends the reports, as it does for a Spark query. It is used in the
place's own thread, so that the thread that reads records does not wait for the network.

**Subtask numbers.** Each process is one reader of the source. Its subtask number is the lowest
number that no other reader of the source uses. If the process was suspended for so long that
another process now uses the number, it takes a different number.

In the subclass in `joined`, the coordinator also assigns the splits.
"""

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from math import inf

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import CatchUp
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.answers import Busy, Interrupted, NotRegistered, Unreachable
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds
from lockgate_http.errors import Fenced
from lockgate_http.group.agreement import Agreement, source_name
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.joining import check_coordinator
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import ASK_AGAIN_S, Coordination
from lockgate_reader.clock import now_s
from lockgate_reader.config import Options
from lockgate_reader.group.standing import UNKNOWN, standing
from lockgate_reader.place import Orders, Place, ReaderSplit, ReaderState

log = logging.getLogger("lockgate")

_END_S = 5.0  # the wait for the thread's end: longer than a call and its retries
_NONE_YET = Orders(ceiling=MIN, until=-inf, waits_for="the coordinator")


class ReportingPlace(Place):
    """The place of a reader that reports its progress to its alignment group.

    Raises `ConfigurationError` if the group has a different `max_drift` or may not be created, and
    `CoordinatorRefused` if the coordinator rejects the reader.
    """

    settled = True
    """False while the coordinator delays the assignment of splits."""

    def __init__(self, coordinator: Coordinator, options: Options) -> None:
        self._agreement = Agreement(
            group=coordinator.group,
            max_drift=options.max_drift_ms,
            chose_drift=options.max_drift is not None,
            disorder=options.disorder_ms,
            catch_up=CatchUp(coordinator.catch_up),
            settings="AlignedConsumer",
            asker="reader",
        )
        check_coordinator(coordinator, self._agreement)
        self._coordinator, self._now = coordinator, now_s
        self._source = source_name(coordinator.source, None, options.name)
        self._run_name = f"{socket.gethostname()[:100]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self._subtask: int | None = None
        self._session = GroupSession.joined(coordinator)
        self._membership = self._member()
        self._status = UNKNOWN
        self._state, self._heard_at = ReaderState(), now_s()
        most = coordinator.max_batch
        self._silence_s = inf if most is None else milliseconds("Coordinator(max_batch)", most) / 1000
        self._orders = _NONE_YET
        self._failed: Exception | None = None
        self._poked = self._closed = self._abandoned = False
        self._wake: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name=f"lockgate-{self._source}", daemon=True)

    # -- for the consumer, on the thread that reads --

    def enter(self, wake: Callable[[], None]) -> None:
        """Start a thread that joins the group, and that calls `wake` whenever it has new
        `Orders`.
        """
        self._wake = wake
        self._thread.start()

    def exchange(self, state: ReaderState) -> Orders:
        """Store `state` for the next report, and return the newest `Orders`. If the background
        thread has failed, raise its error.
        """
        with self._session.changed:
            if self._failed is not None:
                raise self._failed
            self._state, self._heard_at, self._poked = state, self._now(), True
            self._session.changed.notify_all()
            return self._given(state)

    def leave(self, state: ReaderState) -> None:
        """Stop the background thread, and leave the group."""
        with self._session.changed:
            if self._closed:
                return
            self._closed = True
            self._session.changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(_END_S)
        self._leave(state)

    def abandon(self) -> None:
        """Make the background thread leave the group."""
        self._abandoned = True

    # -- on the place's own thread --

    def _run(self) -> None:
        while True:
            with self._session.changed:
                self._session.changed.wait_for(self._has_work, self._pause_s())
                if self._closed:
                    return
                state, silent_s, self._poked = self._state, self._now() - self._heard_at, False
            if self._abandoned:
                log.warning(
                    "group %s: a consumer of %s was not closed, so its partitions are given back now; call "
                    "close(), or use `with`",
                    self._session.group,
                    self._source,
                )
                self._leave(state)
                return
            if self._failed is not None or silent_s > self._silence_s:
                continue  # it has failed; or the user's program takes too long over a record, and loses its lease
            try:
                self._round(state)
            except Interrupted:
                continue
            except Exception as error:
                self._failed = error
                self._wake()

    def _has_work(self) -> bool:
        return self._closed or self._poked or self._membership.has_news

    def _pause_s(self) -> float:
        return ASK_AGAIN_S if self._session.outage.lasts else self._session.update_interval_s

    def _round(self, state: ReaderState) -> None:
        """Send a report and the other requests that are due, and wake the reader if it has new
        orders.
        """
        before = self._orders
        self._status = standing(
            state,
            self._status,
            returning=self._returning(state),
            settled=self.settled,
            disorder=self._agreement.disorder,
            joint=self._membership.joint,
        )
        ceiling = self._report()
        if self._status.watermark == MIN and not self._status.idle:
            ceiling = MIN  # the group does not know yet where this reader is
        orders = self._exchange(state, Orders(ceiling=ceiling, waits_for=self._waits_for()))
        with self._session.changed:
            self._orders = orders
        if orders != before:
            self._wake()

    def _report(self) -> int:
        """Send a report, and return the group's read limit (ms). If another reader uses the subtask
        number, report under a different number.
        """
        while True:
            if self._subtask is None:
                try:
                    self._subtask = _free_subtask(self._session.client, self._source)
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
        name = self._run_name
        return Membership(self._session, self._coordinator, self._agreement, self._source, name, name)

    def _waits_for(self) -> str:
        if self._membership.coordination is Coordination.HOLDING or self._membership.last is None:
            return "the coordinator"
        if self._membership.paused is not None:
            return "an operator"
        return _blocker(self._membership.last)

    def _leave(self, state: ReaderState) -> None:
        if state.ended and not state.held and self._subtask is not None:
            self._membership.close({self._subtask: self._status})
        else:
            self._membership.leave()

    # -- what `joined` adds --

    def _given(self, state: ReaderState) -> Orders:
        """Return the orders to pass to the reader. The caller has acquired the session's lock."""
        return self._orders

    def _returning(self, state: ReaderState) -> Sequence[ReaderSplit]:
        """Return the splits that the reader has given back, but that are still reported."""
        return ()

    def _exchange(self, state: ReaderState, orders: Orders) -> Orders:
        """Send any requests that are due besides the report, and return `orders` with what they
        bring. There are none here; `JoinedPlace` sends some.
        """
        return orders


def _free_subtask(client: CoordinatorClient, source: str) -> int:
    """Return the lowest subtask number of `source` that no reader uses, apart from lost and
    finished readers. Raises `Unreachable` if the coordinator does not answer.
    """
    try:
        readers = client.registered(source)
    except NotRegistered:
        return 0
    used = {subtask for subtask, reader in readers.items() if reader.state not in ("lost", "finished")}
    return next(number for number in range(len(used) + 1) if number not in used)


def _blocker(event: Event) -> str:
    if not event.blocked_by:
        return "" if event.max_desired_watermark == MAX else "the group"
    blocker = event.blocked_by[0]
    reader = f"reader {blocker.source}/{blocker.subtask}"
    return reader if blocker.split is None else f"partition {blocker.split} of {reader}"
