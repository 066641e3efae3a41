"""The membership of a query in its group: its reports, its ceiling, and its end.

**An outage** begins with a call that fails, and ends with a report that is answered. Readers that
are no longer in the coordinator then register again. They send the ceiling and the configuration
that they received last. So a coordinator that has lost its memory lets no reader pass that ceiling.

**Errors** that occur on the keeper's thread during a batch are raised at the query's next plan.
"""

import logging
import threading
from collections.abc import Callable, Mapping

from lockgate import watermark
from lockgate.duration import spoken_s
from lockgate.wire.events import CatchUp, SourcePause
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_http.calls.answers import Busy, Interrupted
from lockgate_http.calls.client import NotACoordinator, NotRegistered, Report, Stale, Unreachable
from lockgate_http.config import Coordinator
from lockgate_http.duration import milliseconds
from lockgate_http.errors import CoordinatorUnavailable
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.ceiling import Ceiling
from lockgate_http.group.combined_reports import acquired
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.outage import Coordination, Policy
from lockgate_http.group.registration import Registration
from lockgate_http.group.reporting import Reporting
from lockgate_http.group.source_status import SourceStatus

log = logging.getLogger("lockgate")


class Membership:
    """The membership of one run of a query in a group. All methods are thread-safe.

    Reader `i` is source `i` of the query. `source` is the query's name in the group, `owner`
    identifies the query, and `run` this run of it. `close` and `leave` also leave `session`.
    `coordination` says which read limit the last plan followed.
    """

    def __init__(
        self, session: GroupSession, coordinator: Coordinator, agreement: Agreement, source: str, owner: str, run: str
    ) -> None:
        self.group, self.source = session.group, source
        self.coordination = Coordination.CONNECTED
        self._session, self._policy = session, Policy.of(coordinator)
        self._park = coordinator.park
        self._ceiling = Ceiling(source)
        self._registration = Registration(session, coordinator, agreement, source, owner, run)
        most = coordinator.max_batch
        self.max_batch_s = float("inf") if most is None else milliseconds("Coordinator(max_batch)", most) / 1000
        self._reporting = Reporting(session.now(), self.max_batch_s)
        self._given = watermark.MIN  # the ceiling of the last plan
        self._lock = threading.Lock()  # one plan at a time, or the keeper
        self._closed = threading.Event()
        self._failed: Exception | None = None
        session.enter(self)

    @property
    def last(self) -> Event | None:
        """The last event that the query accepted (`ceiling`), or None before the first answer."""
        return self._ceiling.event

    @property
    def ceiling(self) -> int:
        """The ceiling (ms). It is MIN before the first answer and while the query is paused."""
        return self._ceiling.value

    @property
    def paused(self) -> SourcePause | None:
        return self._ceiling.paused

    @property
    def joint(self) -> bool:
        """Whether the group uses proposed targets (`reach`). True if this is not known yet."""
        config = self._session.config
        return config is None or config.catch_up is CatchUp.JOINT

    @property
    def max_drift(self) -> int | None:
        config = self._session.config
        return None if config is None else config.max_drift_ms

    @property
    def update_interval_s(self) -> float:
        return self._session.update_interval_s

    @property
    def has_news(self) -> bool:
        """Whether the ceiling differs from the last plan's, or the coordinator must be asked for it
        because the group's last event may no longer hold.
        """
        in_force = self._in_force()
        asks = self._reporting.in_doubt and self._session.outage.asks_now and in_force is not Coordination.PROCEEDING
        return asks or self._given != self._ceiling_under(in_force)

    def epoch(self, subtask: int) -> int | None:
        """Return a reader's epoch, or None while the reader is not registered."""
        return self._registration.epochs.get(subtask)

    def exchange(self, statuses: Mapping[int, SourceStatus]) -> int:
        """Report `statuses`, by subtask, and return the ceiling (ms) for the next plan.

        A report is sent if a watermark or a proposed target has changed, or if the update interval
        has passed.

        Raises:
            Fenced: Another run took over.
            CoordinatorRefused: The coordinator refuses a reader.
            ConfigurationError: The query's settings contradict the group's.
            CoordinatorUnavailable: An outage has lasted so long that the query has to stop
                (`on_outage="fail"`).
        """
        outage = self._session.outage
        # the keeper asks, so that no plan waits for it
        if self._in_force() is Coordination.PROCEEDING:
            self._reporting.take(statuses, self._session.now())
            return self._give()
        with self._lock:
            if self._failed is not None:
                raise self._failed
            urgent = self._reporting.take(statuses, self._session.now())
            if (urgent or outage.lasts or self.is_due(self._session.update_interval_s)) and outage.asks_now:
                self._attempt()
            if self._policy.fails(outage.lasted_s):
                raise CoordinatorUnavailable(
                    f"group {self.group}: the coordinator could not be reached for {spoken_s(outage.lasted_s or 0)}, "
                    f"and Coordinator(on_outage='fail', hold_for=…) lets {self.source} hold for "
                    f"{spoken_s(self._policy.hold_for_s)}"
                )
            return self._give()

    def wait_for_change(self, wait_ms: int) -> bool:
        """Wait up to `wait_ms` for news of the group. Return whether it came before `close`."""
        with self._session.changed:
            self._session.changed.wait_for(lambda: self.has_news or self._closed.is_set(), wait_ms / 1000)
            return self.has_news and not self._closed.is_set()

    def close(self, statuses: Mapping[int, SourceStatus] | None = None, returns: bool = False) -> None:
        """End the membership, within at most `Coordinator(timeout)` plus one second.

        With `statuses`, the readers report that they are finished. If `returns` is true (a
        scheduled query will run again) and `Coordinator(park)` is set, they keep blocking the group
        for `park` instead. Without `statuses`, nothing is reported, and the readers' leases run
        out.
        """

        def report() -> None:
            if statuses and self._registration.epochs:
                park = self._park if returns else None
                park_ms = None if park is None else milliseconds("Coordinator(park)", park)
                self._reporting.end(statuses, park_ms)
                self._uninterrupted(in_a_hurry=True)

        self._end(report, f"the coordinator did not receive the last report of {self.source}")

    def leave(self) -> None:
        """Remove the readers at once, one call each, in no more time than `close` takes."""
        self._end(self._leave, f"{self.source} could not leave, so it stays in the group until its lease expires")

    # -- for the session --

    def is_due(self, after_s: float) -> bool:
        if not self._registration.epochs or self._failed is not None or self._closed.is_set():
            return False
        return self._reporting.is_due(after_s, self._session.now(), self._ceiling.answered_at)

    def reports(self) -> list[Report]:
        self._ceiling.asks(self._reporting.lowest)
        return [(self.source, event) for event in self._reporting.events(self._registration.epochs.copy())]

    def answered(self, event: Event, asked_at: float) -> None:
        with self._session.changed:
            self._ceiling.answered(event, asked_at)
            self._reporting.answered()

    def on_event(self, event: Event) -> None:
        """Apply news of the group. The caller holds `session.changed`."""
        if self._ceiling.on_event(event, self._session.now(), self._session.tolerance_s):
            self._reporting.in_doubt = True

    def invalidate(self) -> None:
        self._reporting.in_doubt = True

    def renew_lease(self) -> None:
        """Repeat the last reports, unless the query is making a plan, because the plan reports too.
        An error is logged, and the next plan raises it.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._reporting.statuses and self._failed is None and not self._closed.is_set():
                self._attempt()
        except Exception as error:  # the next plan stops the query with it
            log.warning("group %s: stopped renewing the lease of %s: %s", self.group, self.source, error)
        finally:
            self._lock.release()

    # -- inside --

    def _end(self, last: Callable[[], None], otherwise: str) -> None:
        """Call `last` and leave the session. If `last` fails, log a warning with `otherwise`."""
        with self._session.changed:
            if self._closed.is_set():
                return
            self._closed.set()
            self._session.changed.notify_all()
        try:
            with acquired(self._lock, self._session.client, in_a_hurry=True):
                last()
        except Exception as error:
            log.warning("group %s: %s: %s", self.group, otherwise, error)
        finally:
            self._session.leave(self)

    def _leave(self) -> None:
        for subtask, epoch in self._registration.epochs.items():
            try:
                self._session.client.leave(self.source, subtask, epoch)
            except (NotRegistered, Stale):
                continue

    def _give(self) -> int:
        before, self.coordination = self.coordination, self._in_force()
        if self.coordination is Coordination.PROCEEDING and before is not Coordination.PROCEEDING:
            log.warning(
                "group %s: %s continues without the group's read limit; its own partitions stay aligned",
                self.group,
                self.source,
            )
        self._given = self._ceiling_under(self.coordination)
        return self._given

    def _in_force(self) -> Coordination:
        return self._policy.in_force(self._session.outage.lasted_s)

    def _ceiling_under(self, coordination: Coordination) -> int:
        """Return the ceiling, or MAX if the query proceeds without its group and is not paused."""
        proceeds = coordination is Coordination.PROCEEDING and self.paused is None
        return watermark.MAX if proceeds else self.ceiling

    def _attempt(self) -> None:
        """Report once, and handle a failure.

        * If the coordinator does not answer, an outage begins or continues. The same applies if a
          different server answers, provided that the coordinator has answered before.
        * If another thread interrupts the call, a report is due again at once.
        * Other errors are raised. All of them except `Busy` are raised again by each later plan.
        """
        try:
            self._report()
        except Interrupted:
            self._reporting.in_doubt = True  # a query of this process ends: perhaps this one
        except Unreachable as error:
            self._begin_outage(error)
        except Busy:
            raise  # whoever has it may end: the caller may try again, or take another reader
        except NotACoordinator as error:
            if self.last is None:
                self._failed = error
                raise
            # a proxy may answer while the coordinators behind it are replaced
            self._begin_outage(error)
        except Exception as error:
            self._failed = error
            raise
        else:
            self._session.outage.ends()

    def _begin_outage(self, error: Exception) -> None:
        held = (
            f"{self.source} waits for the coordinator and reads nothing before its first answer{self._policy}"
            if self.last is None
            else f"{self.source} stays at the last read limit, {watermark.instant(self.ceiling)}{self._policy}"
        )
        self._session.outage.begins(error, held)

    def _report(self) -> None:
        registration = self._registration
        for _ in range(3):  # again after a registration, and with an epoch that was not known
            try:
                if registration.epochs.keys() != self._reporting.statuses.keys():
                    registration.register(
                        self._reporting.statuses, None if self.last is None else self.last.max_desired_watermark
                    )
                    self._reporting.forget_answered()
                self._uninterrupted()
                self._session.follow_config(self._ceiling.version)
            except NotRegistered:
                registration.epochs = {}
                continue
            except Stale as error:
                registration.find_epochs(error)
                self._reporting.forget_answered()
                continue
            registration.check_config()
            return
        raise Unreachable(f"the coordinator forgets the readers of {self.source} as soon as they are registered")

    def _uninterrupted(self, in_a_hurry: bool = False) -> None:
        """Report, and retry if another query that ends has interrupted the call.

        If this query is ending, raise `Interrupted` instead. Its last report sets `in_a_hurry`, and
        is always retried.
        """
        while True:
            try:
                return self._session.combined_reports.report(self, in_a_hurry)
            except Interrupted:
                if self._closed.is_set() and not in_a_hurry:
                    raise
