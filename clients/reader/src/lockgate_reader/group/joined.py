"""The place of a reader in a group: the `Place` that talks to the coordinator.

**Two exchanges** go over one connection, on a thread of this place's own, so that the thread that
reads waits for no network. The reader's *report* says how far its source is, and brings the
ceiling: that is a `Membership`, as a Spark query has one. The *exchange of splits* says what the
reader holds and where it is in each split, and brings the splits to hold and the lease. What the
answers come to is in `holdings`, `standing` and `fencing`, which are pure.

**When.** A report goes out as soon as what other readers wait for has changed, and at least every
update interval. Splits are exchanged every update interval, and at once when something was given
back, read to its end or discovered, when news of splits come, and when the lease is over. After a
hard kill what was handed out since the last answered exchange is handed out again.

**Numbers of readers.** Each process is one reader of the source, with a number of its own, its
subtask: the lowest one that nobody uses. If somebody else has taken it meanwhile, since this
process was stopped for long, it takes another one and presents what it holds; the coordinator says
what of it is still its own.

**Outages.** The ceiling is that of `on_outage`, as for a query. The lease goes on: once it is over
nothing is handed out under any policy, for another reader may have the splits by then.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from math import inf

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.answers import Busy, Interrupted, NotRegistered, Stale, Unreachable
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds
from lockgate_http.errors import AlignmentError, Fenced
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import ASK_AGAIN_S, Coordination
from lockgate_reader.clock import now_s
from lockgate_reader.group.fencing import SplitLease
from lockgate_reader.group.holdings import Holdings, Said, SourceWishes
from lockgate_reader.group.news import SplitNews, Unheeded
from lockgate_reader.group.standing import UNKNOWN, standing
from lockgate_reader.group.subtasks import Identity, free_subtask
from lockgate_reader.place import Orders, Place, ReaderState

log = logging.getLogger("lockgate")

_FAREWELL_S = 5.0  # for giving back, where the coordinator is away
_END_S = 5.0  # the wait for the thread's end: longer than a call and its retries
_LEAST_S = 0.02  # between two rounds that nobody asked for
_OVER_S = 0.05  # between two exchanges while the lease is over
_NONE_YET = Orders(ceiling=MIN, until=-inf, waits_for="the coordinator")


class JoinedPlace(Place):
    """A reader in a group, with its splits, read limit and lease. `now` returns monotonic seconds,
    by which leases are measured.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        agreement: Agreement,
        identity: Identity,
        wishes: SourceWishes,
        *,
        now: Callable[[], float] = now_s,
    ) -> None:
        self._coordinator, self._agreement, self._identity = coordinator, agreement, identity
        self._subtask: int | None = None
        self._now = now
        self._session = GroupSession.joined(coordinator)
        self._membership = self._member()
        self._holdings = Holdings(wishes, identity.run)
        self._lease = SplitLease()
        self._status = UNKNOWN
        self._said, self._said_at = Said(ReaderState()), now()
        most = coordinator.max_batch
        self._silence_s = inf if most is None else milliseconds("Coordinator(max_batch)", most) / 1000
        self._orders = _NONE_YET
        self._failed: Exception | None = None
        self._poked = self._closed = self._abandoned = False
        self._exchange_at, self._not_before, self._exchanged_epoch = -inf, -inf, 0
        self._unheeded = Unheeded()
        self._news = SplitNews(self._session.client, identity.source, self._hear_of_splits)
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
        """Keep `state` for the next exchange with the coordinator, and return the newest `Orders`.

        Raises the error that ended the reader, if there is one.
        """
        said = Said(state, tuple(state.held()))
        with self._session.changed:
            if self._failed is not None:
                raise self._failed
            self._holdings.says(said)
            self._said, self._said_at, self._poked = said, self._now(), True
            self._session.changed.notify_all()
            orders, events = self._orders, self._holdings.events()
            self._holdings.offers(orders.assigned or (), orders.give_back)
        return replace(orders, source_events=events) if events else orders

    def leave(self, state: ReaderState) -> None:
        """Give back all splits and leave the group."""
        with self._session.changed:
            if self._closed:
                return
            self._closed = True
            self._session.changed.notify_all()
        self._news.close()
        if self._thread.is_alive():
            self._thread.join(_END_S)
        self._leave(Said(state, tuple(state.held())))

    def abandon(self) -> None:
        """Let the background thread give back all splits and leave the group."""
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
                self._news.close()
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
        if self._session.outage.lasts:
            return ASK_AGAIN_S
        return min(self._session.update_interval_s, max(_LEAST_S, self._exchange_at - self._now()))

    def _round(self, said: Said) -> None:
        """One report, if it is due, and one exchange of splits, if it is."""
        before, holdings = self._orders, self._holdings
        self._status = standing(
            said,
            self._status,
            returning=holdings.returning(said),
            settled=holdings.settled,
            disorder=self._agreement.disorder,
            joint=self._membership.joint,
        )
        ceiling = self._report()
        if self._status.watermark == MIN and not self._status.idle:
            ceiling = MIN  # the group does not know yet where this reader is
        if self._splits_are_due(said):
            self._exchange_splits(said)
        orders = self._made_orders(ceiling)
        with self._session.changed:
            self._orders = orders
        if orders != before:
            self._wake()

    def _report(self) -> int:
        """Report, under another number if this one is taken, and return the ceiling."""
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

    def _splits_are_due(self, said: Said) -> bool:
        epoch = self._epoch()
        if epoch is None or not self._session.outage.asks_now or self._now() < self._not_before:
            return False
        return (
            epoch != self._exchanged_epoch
            or self._now() >= self._exchange_at
            or self._unheeded.is_there(self._holdings.seen)
            or (bool(self._holdings.assigned) and self._lease.is_over(self._now()))
            or self._holdings.is_urgent(said)
        )

    def _exchange_splits(self, said: Said) -> None:
        subtask, epoch = self._subtask, self._epoch()
        assert subtask is not None
        assert epoch is not None
        sent, sent_at, mark = self._holdings.exchange(said, epoch), self._now(), self._unheeded.mark
        try:
            answer = self._session.client.exchange_splits(self._identity.source, subtask, sent)
        except Interrupted:
            return
        except (NotRegistered, Stale):
            self._membership.invalidate()  # the next report finds out, and registers
            return
        except Unreachable as error:
            self._not_before = self._now() + ASK_AGAIN_S
            held = f"{self._identity.source} keeps reading until the lease of its partitions expires"
            self._session.outage.begins(error, held)
            return
        with self._session.changed:
            self._holdings.answered(sent, answer, said)
            self._unheeded.answered(mark)
            settled = self._holdings.settled
            self._lease = self._lease.renewed(sent_at, answer.lease_ms, self._now(), settled=settled)
        self._exchange_at, self._exchanged_epoch = sent_at + self._session.update_interval_s, epoch
        if self._lease.is_over(self._now()):
            self._not_before = self._now() + _OVER_S
        self._session.tell(answer.alignment)
        self._news.follow(subtask, epoch)

    def _epoch(self) -> int | None:
        return None if self._subtask is None else self._membership.epoch(self._subtask)

    def _made_orders(self, ceiling: int) -> Orders:
        held = self._holdings
        return Orders(
            ceiling=ceiling,
            until=-inf if held.unresolved else self._lease.until,
            assigned=None if held.assigned is None else tuple(held.assigned.values()),
            give_back=held.give_back,
            no_more_splits=held.no_more_splits,
            discover=held.discover,
            waits_for=self._waits_for(),
        )

    def _waits_for(self) -> str:
        if self._membership.coordination is Coordination.HOLDING or self._membership.last is None:
            return "the coordinator"
        if self._membership.paused is not None:
            return "an operator"
        return _holder(self._membership.last)

    def _leave(self, said: Said) -> None:
        self._say_farewell(said)
        if said.state.ended and not said.held and self._subtask is not None:
            self._membership.close({self._subtask: self._status})
        else:
            self._membership.leave()

    def _say_farewell(self, said: Said) -> None:
        epoch = self._epoch()
        if epoch is None or self._subtask is None or self._failed is not None:
            return
        sent = self._holdings.farewell(said, epoch)
        gives_up, pause = self._now() + _FAREWELL_S, threading.Event()
        while True:
            try:
                self._session.client.exchange_splits(self._identity.source, self._subtask, sent)
                return
            except Unreachable as error:
                if self._now() < min(gives_up, self._lease.until):
                    pause.wait(ASK_AGAIN_S)
                    continue
                self._not_given_back(error)
            except AlignmentError as error:
                self._not_given_back(error)
            return

    def _not_given_back(self, error: AlignmentError) -> None:
        name = self._identity.source
        why = f"the partitions of {name} were not given back, so other consumers get them only when the lease ends"
        log.warning("group %s: %s: %s", self._session.group, why, error)

    def _hear_of_splits(self, revision: float) -> None:
        with self._session.changed:
            self._unheeded.comes(revision)
            if self._unheeded.is_there(self._holdings.seen):
                self._poked = True
                self._session.changed.notify_all()

    def _fail(self, error: Exception) -> None:
        with self._session.changed:
            self._failed = error
        self._wake()


def _holder(event: Event) -> str:
    if not event.blocked_by:
        return "" if event.max_desired_watermark == MAX else "the group"
    holder = event.blocked_by[0]
    reader = f"reader {holder.source}/{holder.subtask}"
    return reader if holder.split is None else f"partition {holder.split} of {reader}"
