"""The place (`lockgate_reader.place`) of a reader in an alignment group. It calls the coordinator
in a thread of its own. A `Membership` sends the reports, as for a Spark query.

Unless Kafka's own group assigns the splits, the coordinator does so in answers to *exchanges*
(`holdings`). One is sent every update interval, and at once if the coordinator waits for a change
or announces one, or if the lease has ended. Once it has ended, no record is returned under any
`on_outage` policy, because another reader may have the splits by then.
"""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from math import inf
from typing import Any

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import CatchUp
from lockgate.wire.split_events import SplitExchange
from lockgate_http.calls.answers import Busy, Interrupted, NotRegistered, Stale, Unreachable, Unstreamed
from lockgate_http.calls.listener import STREAM_AGAIN_S, alive
from lockgate_http.calls.retry import Pace, pause_s
from lockgate_http.config import Coordinator
from lockgate_http.errors import AlignmentError, Fenced
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.joining import check_coordinator
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import ASK_AGAIN_S, Coordination
from lockgate_reader.clock import now_s
from lockgate_reader.config import Options
from lockgate_reader.group.holdings import UNKNOWN, Holdings, SplitLease, standing
from lockgate_reader.place import Orders, Place, ReaderState

log = logging.getLogger("lockgate")

_END_S = 5.0  # timeout of `leave`: longer than a call and its retries
_LEAST_S = 0.02  # the shortest pause between two rounds


class JoinedPlace(Place):
    """The `Place` of a reader in an alignment group. Raises what `check_coordinator` raises."""

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
        self._coordinator, self._source = coordinator, options.source
        self._run_name = f"{socket.gethostname()[:100]}:{os.getpid()}:{uuid.uuid4().hex[:12]}"
        self._join()
        self._status = UNKNOWN
        self._state, self._heard_at = ReaderState(), now_s()
        self._orders = Orders(ceiling=MIN, until=-inf, waits_for="the coordinator")
        self._failed: Exception | None = None
        self._poked = self._closed = self._abandoned = False
        self._thread = threading.Thread(target=self._run, name=f"lockgate-{self._source}", daemon=True)
        self._assigns = options.partitions != "kafka"
        bounded = options.ending_offsets is not None
        self._holdings = Holdings(self._run_name, discovery_ms=options.discovery_ms, bounded=bounded)
        self._lease = SplitLease() if self._assigns else SplitLease(until=inf)
        self._exchange_at = -inf
        self._heard_as: tuple[int, int] | None = None  # the registration of the last exchange

    def _join(self) -> None:
        name, self._subtask = self._run_name, -1  # not known yet
        self._session = GroupSession.joined(self._coordinator)
        self._membership = Membership(self._session, self._coordinator, self._agreement, self._source, name, name)

    def enter(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._thread.start()

    def exchange(self, state: ReaderState) -> Orders:
        if self._failed is not None:
            raise self._failed
        with self._news():
            self._state, self._heard_at = state, now_s()
        return self._orders

    def send_source_event(self, event: dict[str, Any]) -> None:
        if self._assigns:
            with self._news():
                self._holdings.sends(event)

    def source_events(self) -> list[object]:
        with self._session.changed:
            return self._holdings.events()

    def leave(self, state: ReaderState) -> None:
        with self._news():
            self._closed = True
        if self._thread.is_alive():
            self._thread.join(_END_S)
        self._leave(state)

    def abandon(self) -> None:
        self._abandoned = True

    @contextmanager
    def _news(self) -> Iterator[None]:
        """Wake the place's own thread, on which the methods below run, after a change."""
        with self._session.changed:
            yield
            self._poked = True
            self._session.changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._session.changed:
                self._session.changed.wait_for(lambda: self._poked or self._membership.has_news, self._pause_s())
                if self._closed:
                    return
                state, silent_s, self._poked = self._state, now_s() - self._heard_at, False
            if self._abandoned:
                said = "group %s: a consumer of %s was not closed, and gives its partitions back; call close()"
                log.warning(said, self._session.group, self._source)
                self._leave(state)
                return
            if self._failed is not None or silent_s > self._membership.max_batch_s:
                continue  # the place has failed; or the program takes too long for a record, and loses its lease
            try:
                self._round(state)
            except Interrupted:
                continue
            except Exception as error:
                self._failed = error
                self._wake()

    def _pause_s(self) -> float:
        if self._session.outage.lasts:
            return ASK_AGAIN_S
        due_s = self._exchange_at - now_s() if self._assigns else inf
        return min(self._session.update_interval_s, max(_LEAST_S, due_s))

    def _round(self, state: ReaderState) -> None:
        """Report the status, send an exchange if due, and wake the reader if its orders changed."""
        before, held = self._orders, self._holdings
        settled, disorder, joint = held.settled or not self._assigns, self._agreement.disorder, self._membership.joint
        returning = held.own(state.returned)
        self._status = standing(state, self._status, returning, settled=settled, disorder=disorder, joint=joint)
        ceiling = self._report()
        if self._status.watermark == MIN and not self._status.idle:
            ceiling = MIN  # the group does not have this reader's watermark yet
        if self._assigns and (epoch := self._membership.epoch(self._subtask)) and self._splits_are_due(state, epoch):
            self._exchange_splits(state, epoch)
        self._orders = Orders(
            ceiling=ceiling,
            until=-inf if held.unresolved else self._lease.until,
            assigned=None if held.assigned is None else tuple(held.assigned.values()),
            give_back=held.give_back,
            no_more_splits=held.no_more_splits,
            discover=held.discover,
            waits_for=self._waits_for(),
        )
        if self._orders != before:
            self._wake()

    def _report(self) -> int:
        """Report, under a new number if this one is taken, and return the read limit (ms)."""
        while True:
            if self._subtask < 0:
                self._subtask = self._free_subtask()
            try:
                return self._membership.exchange({self._subtask: self._status})
            except Busy:
                self._subtask += 1  # another process has taken this number
            except Fenced as error:
                log.info("group %s: %s. This consumer joins again as another reader", self._session.group, error)
                former = self._membership
                self._join()
                former.close()

    def _free_subtask(self) -> int:
        """Return the lowest number that no live reader uses; 0 if the coordinator is away."""
        try:
            readers = self._session.client.registered(self._source)
        except (NotRegistered, Unreachable):
            return 0
        used = {subtask for subtask, reader in readers.items() if reader.state not in ("lost", "finished")}
        return next(number for number in range(len(used) + 1) if number not in used)

    def _waits_for(self) -> str:
        event = self._membership.last
        if self._membership.coordination is Coordination.HOLDING or event is None:
            return "the coordinator"
        if self._membership.paused is not None:
            return "an operator"
        if not event.blocked_by:
            return "" if event.max_desired_watermark == MAX else "the group"
        blocker = event.blocked_by[0]
        reader = f"reader {blocker.source}/{blocker.subtask}"
        return reader if blocker.split is None else f"partition {blocker.split} of {reader}"

    def _splits_are_due(self, state: ReaderState, epoch: int) -> bool:
        return self._session.outage.asks_now and (
            self._heard_as != (self._subtask, epoch)
            or now_s() >= self._exchange_at
            or self._holdings.has_news
            or (bool(self._holdings.assigned) and self._lease.is_over(now_s()))
            or self._holdings.is_urgent(state)
        )

    def _exchange_splits(self, state: ReaderState, epoch: int) -> None:
        sent, sent_at = self._holdings.exchange(state, epoch), now_s()
        try:
            answer = self._session.client.exchange_splits(self._source, self._subtask, sent)
        except (NotRegistered, Stale):
            self._membership.invalidate()  # so the next report registers the reader again
            return
        except Unreachable as error:
            held = f"{self._source} keeps reading until the lease of its partitions expires"
            self._session.outage.begins(error, held)
            return
        with self._session.changed:
            self._holdings.answered(sent, answer, state)
            self._lease = self._lease.renewed(sent_at, answer.lease_ms, now_s(), settled=self._holdings.settled)
        self._exchange_at = sent_at + self._session.update_interval_s
        self._session.tell(answer.alignment)
        if self._heard_as != (heard_as := (self._subtask, epoch)):
            self._heard_as = heard_as
            self._session.client.begin(lambda: self._listen(heard_as))

    async def _listen(self, registration: tuple[int, int]) -> None:
        """Read the event stream of this registration, and reopen it when it ends."""
        client, pace, failures = self._session.client, Pace(), 0
        while self._heard_as == registration:
            failures += 1
            try:
                stream = client.split_news(self._source, *registration)
                async with aclosing(alive(stream, client.timeout_s)) as revisions:
                    async for revision in revisions:  # None is a heartbeat
                        if self._heard_as != registration:
                            return
                        failures = 0
                        if revision is not None:
                            with self._news():
                                self._holdings.hears(revision)
            except (NotRegistered, Stale):
                return  # the reader registers again, and an exchange opens the stream of its new epoch
            except Unstreamed as error:
                log.info("%s, so new assignments arrive with the next report instead", error)
                await pace.sleep(STREAM_AGAIN_S)
            except AlignmentError as error:
                log.debug("the event stream of assignments failed, retrying: %s", error)
            await pace.sleep(pause_s(failures, pace.chance()))

    def _leave(self, state: ReaderState) -> None:
        self._heard_as, epoch = None, self._membership.epoch(self._subtask)
        if self._assigns and self._failed is None and epoch is not None:
            self._say_farewell(self._holdings.farewell(state, epoch))
        if state.ended and not state.held:
            self._membership.close({self._subtask: self._status})
        else:
            self._membership.leave()

    def _say_farewell(self, sent: SplitExchange) -> None:
        """Give all splits back. Retry for `_END_S` if that fails, or until the lease ends."""
        gives_up = min(now_s() + _END_S, self._lease.until)
        while True:
            try:
                self._session.client.exchange_splits(self._source, self._subtask, sent)
                return
            except AlignmentError as error:
                if not isinstance(error, Unreachable) or now_s() >= gives_up:
                    said = "the partitions of %s were not given back, so others get them when the lease ends"
                    log.warning(f"group %s: {said}: %s", self._session.group, self._source, error)
                    return
            time.sleep(ASK_AGAIN_S)
