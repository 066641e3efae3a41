"""The place (`lockgate_reader.place`) of a reader whose splits the coordinator assigns.

In addition to the reports of the base class (`reports`), this place sends requests that are called
*exchanges*. An exchange lists the splits that the reader has, with its position in each. The
coordinator's answer lists the splits that the reader should have, and gives the length of the
lease.

**When exchanges are sent.** An exchange is sent every update interval. It is sent at once if a
split was given back, read to its end or discovered, if the coordinator's event stream announces a
change, or if the lease has ended.

**After a crash.** If the process is killed, records that were returned since the last answered
exchange are returned again.

**Outages.** If the coordinator is unreachable, the lease keeps running. Once it has ended, no
record is returned under any `on_outage` policy, because another reader may have the splits by then.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from lockgate_http.calls.answers import Interrupted, NotRegistered, Stale, Unreachable
from lockgate_http.config import Coordinator
from lockgate_http.errors import AlignmentError
from lockgate_http.group.outage import ASK_AGAIN_S
from lockgate_reader.config import Options
from lockgate_reader.group.fencing import SplitLease
from lockgate_reader.group.holdings import Holdings
from lockgate_reader.group.news import SplitNews
from lockgate_reader.group.reports import ReportingPlace
from lockgate_reader.place import Orders, ReaderSplit, ReaderState

log = logging.getLogger("lockgate")

_FAREWELL_S = 5.0  # for giving splits back while the coordinator is unreachable
_LEAST_S = 0.02  # at least, between two rounds
_OVER_S = 0.05  # between two exchanges while the lease is over


class JoinedPlace(ReportingPlace):
    """The place of a reader that gets its splits, read limit and lease from the coordinator."""

    def __init__(self, coordinator: Coordinator, options: Options) -> None:
        super().__init__(coordinator, options)
        bounded = options.ending_offsets is not None
        self._holdings = Holdings(self._run_name, discovery_ms=options.discovery_ms, bounded=bounded)
        self._lease = SplitLease()
        self._exchange_at, self._not_before, self._exchanged_epoch = -inf, -inf, 0
        self._news = SplitNews(self._session.client, self._source, self._hear_of_splits)

    @property
    def settled(self) -> bool:  # type: ignore[override]
        """Return False while the coordinator delays the assignment of splits."""
        return self._holdings.settled

    def _given(self, state: ReaderState) -> Orders:
        self._holdings.says(state)
        orders, events = self._orders, self._holdings.events()
        self._holdings.offers(orders.assigned or (), orders.give_back)
        return replace(orders, source_events=events) if events else orders

    def _returning(self, state: ReaderState) -> Sequence[ReaderSplit]:
        return self._holdings.returning(state)

    def _pause_s(self) -> float:
        pause_s = super()._pause_s()
        return pause_s if self._session.outage.lasts else min(pause_s, max(_LEAST_S, self._exchange_at - self._now()))

    def _exchange(self, state: ReaderState, orders: Orders) -> Orders:
        if self._splits_are_due(state):
            self._exchange_splits(state)
        held = self._holdings
        return replace(
            orders,
            until=-inf if held.unresolved else self._lease.until,
            assigned=None if held.assigned is None else tuple(held.assigned.values()),
            give_back=held.give_back,
            no_more_splits=held.no_more_splits,
            discover=held.discover,
        )

    def _splits_are_due(self, state: ReaderState) -> bool:
        epoch = self._epoch()
        if epoch is None or not self._session.outage.asks_now or self._now() < self._not_before:
            return False
        return (
            epoch != self._exchanged_epoch
            or self._now() >= self._exchange_at
            or self._holdings.has_news
            or (bool(self._holdings.assigned) and self._lease.is_over(self._now()))
            or self._holdings.is_urgent(state)
        )

    def _exchange_splits(self, state: ReaderState) -> None:
        subtask, epoch = self._subtask, self._epoch()
        assert subtask is not None
        assert epoch is not None
        sent, sent_at = self._holdings.exchange(state, epoch), self._now()
        try:
            answer = self._session.client.exchange_splits(self._source, subtask, sent)
        except Interrupted:
            return
        except (NotRegistered, Stale):
            self._membership.invalidate()  # the next report finds out, and registers
            return
        except Unreachable as error:
            self._not_before = self._now() + ASK_AGAIN_S
            held = f"{self._source} keeps reading until the lease of its partitions expires"
            self._session.outage.begins(error, held)
            return
        with self._session.changed:
            self._holdings.answered(sent, answer, state)
            settled = self._holdings.settled
            self._lease = self._lease.renewed(sent_at, answer.lease_ms, self._now(), settled=settled)
        self._exchange_at, self._exchanged_epoch = sent_at + self._session.update_interval_s, epoch
        if self._lease.is_over(self._now()):
            self._not_before = self._now() + _OVER_S
        self._session.tell(answer.alignment)
        self._news.follow(subtask, epoch)

    def _epoch(self) -> int | None:
        return None if self._subtask is None else self._membership.epoch(self._subtask)

    def _leave(self, state: ReaderState) -> None:
        self._news.close()
        self._say_farewell(state)
        super()._leave(state)

    def _say_farewell(self, state: ReaderState) -> None:
        epoch = self._epoch()
        if epoch is None or self._subtask is None or self._failed is not None:
            return
        sent = self._holdings.farewell(state, epoch)
        gives_up, pause = self._now() + _FAREWELL_S, threading.Event()
        while True:
            try:
                self._session.client.exchange_splits(self._source, self._subtask, sent)
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
        name = self._source
        why = f"the partitions of {name} were not given back, so other consumers get them only when the lease ends"
        log.warning("group %s: %s: %s", self._session.group, why, error)

    def _hear_of_splits(self, revision: float) -> None:
        with self._session.changed:
            self._holdings.hears(revision)
            if self._holdings.has_news:
                self._poked = True
                self._session.changed.notify_all()
