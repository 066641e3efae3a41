"""A query's place in its group: registration, reports, the ceiling, and what holds while the coordinator cannot be reached.

**The ceiling** is the `max_desired_watermark` of the last answer. Before the first answer it is MIN: a query that starts while the
coordinator is down waits for it. **An outage** (`hold`): the ceiling stays what it was last told, so the query goes on to it and
waits there; nobody runs free. Afterwards readers that the coordinator no longer knows register again and present the ceiling and
the configuration they were last told, so that a coordinator that has lost its memory does not let anybody beyond it.

**The lease** is kept by a thread that repeats the last report while a long batch is under way; the report is still true, since what
is done changes only with the next plan. A reader whose epoch is no longer the newest is fenced: its query must stop. What the thread
learns that must stop the query, the next plan raises.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockgate import watermark
from lockgate.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent, SplitReport
from lockgate.events import WatermarkAlignmentEvent as Event
from lockgate_spark.client import CoordinatorClient, NotACoordinator, NotRegistered, Stale, Unreachable
from lockgate_spark.config import Alignment
from lockgate_spark.errors import ConfigurationError, Fenced
from lockgate_spark.group import check_config, group_config
from lockgate_spark.outage import Outage

log = logging.getLogger("lockgate")

_PATIENCE_S = 0.5  # at the end, with a report that is under way
_NEVER = -1e9


@dataclass(frozen=True, slots=True)
class Standing:
    """What one source of the query has to report. Times in ms."""

    watermark: int
    reach: int | None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)


class Membership:
    """The readers of one query run in one group: reader `i` is source `i` of the query. Thread-safe."""

    def __init__(
        self,
        client: CoordinatorClient,
        alignment: Alignment,
        source: str,
        owner: str,
        run: str,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        assert alignment.coordinator is not None
        self.group = alignment.coordinator.group
        self.source = source
        self.last: Event | None = None  # the last answer
        self._client = client
        self._alignment = alignment
        self._owner, self._run, self._now = owner, run, now
        self._config: GroupConfig | None = None
        self._config_version: int | None = None
        self._epochs: dict[int, int] = {}
        self._reports: dict[int, Standing] = {}
        self._heard_at = _NEVER
        self._outage = Outage(self.group, now)
        self._lock = threading.RLock()  # one report at a time: the last one sent is the last one heard
        self._closed = threading.Event()
        self._keeper: threading.Thread | None = None
        self._failed: Exception | None = None

    @property
    def ceiling(self) -> int:
        """The group's max desired watermark as last told; MIN before the first answer."""
        return watermark.MIN if self.last is None else self.last.max_desired_watermark

    @property
    def joint(self) -> bool:
        """Whether the group makes use of `reach`."""
        return self._config is None or self._config.catch_up is CatchUp.JOINT

    @property
    def max_drift(self) -> int | None:
        """The group's max drift in ms, once it is known."""
        return None if self._config is None else self._config.max_drift_ms

    @property
    def update_interval_s(self) -> float:
        """How often the group wants to hear a reader whose report has not changed."""
        return (self._config or GroupConfig()).update_interval_ms / 1000

    def epoch(self, subtask: int) -> int | None:
        """The epoch that `subtask` was registered with; None before that, and where the coordinator has forgotten it."""
        return self._epochs.get(subtask)

    def exchange(self, standings: Mapping[int, Standing]) -> int:
        """Reports where the query stands and returns the ceiling; the last one told while the coordinator cannot be reached.

        Says nothing while nothing has changed and the update interval has not passed. Raises `Fenced` and `CoordinatorRefused`.
        """
        with self._lock:
            if self._failed is not None:
                raise self._failed
            changed = standings != self._reports
            self._reports = dict(standings)
            due = self._outage.lasts or self._now() - self._heard_at >= self.update_interval_s
            if (changed or due) and self._outage.asks_now:
                self._attempt()
            return self.ceiling

    def wait_for_change(self, wait_ms: int) -> bool:
        """Waits until the group has something new to tell; False when that takes longer than `wait_ms`.

        It is not obeyed, for it may have been made without us: our lease may have ended, or the coordinator lost its memory. The next
        `exchange` reports, and what that is answered is the ceiling.
        """
        if self.last is None or self._outage.lasts:
            self._closed.wait(wait_ms / 1000)
            return False
        try:
            news = self._client.wait(self.last.revision, wait_ms) is not None
        except NotRegistered:
            news = True
        except (Unreachable, NotACoordinator) as error:
            self._lost(error)
            return False
        if news:
            self._heard_at = _NEVER
        return news

    def close(self, standings: Mapping[int, Standing] | None = None) -> None:
        """Ends the membership. With `standings` the readers report that they are finished; without, their leases run out.

        Takes the coordinator's `timeout` and a second at most, whatever is under way.
        """
        self._closed.set()
        # A report that is heard after the last one would make the reader count again. So it may end by itself, but not for long.
        patience = _PATIENCE_S
        while not self._lock.acquire(timeout=patience):
            self._client.interrupt()
            patience = 0.05
        try:
            if standings and self._epochs:
                self._reports = dict(standings)
                self._client.report(self._events(finished=True))
        except Exception as error:
            log.warning("group %s: the last report of %s was not heard: %s", self.group, self.source, error)
        finally:
            self._lock.release()
            self._client.close()

    # -- inside --

    @property
    def _lease_s(self) -> float:
        return (self._config or GroupConfig()).lease_ms / 1000

    def _attempt(self) -> None:
        """One report. Where it is not answered the outage begins or goes on."""
        try:
            self._report()
        except Unreachable as error:
            self._lost(error)
        except NotACoordinator as error:
            if self.last is None:
                self._failed = error
                raise
            self._lost(error)  # a proxy of theirs, perhaps, while its coordinators are replaced
        except Exception as error:
            self._failed = error
            raise
        else:
            self._outage.ends()

    def _lost(self, error: Exception) -> None:
        if not self._closed.is_set():  # else it was interrupted
            self._outage.begins(error, f"{self.source} holds at the last ceiling, {watermark.iso(self.ceiling)}")

    def _report(self) -> None:
        for _ in range(3):  # again after a registration, and with an epoch that was not known
            try:
                if set(self._epochs) != set(self._reports):
                    self._register()
                asked_at = self._now()  # the lease may begin as early as this
                self.last = self._client.report(self._events())
            except NotRegistered:
                self._epochs.clear()
                continue
            except Stale as error:
                self._find_epochs(error)
                continue
            self._heard_at = asked_at
            self._follow_config(self.last)
            return
        raise Unreachable(f"the coordinator forgets the readers of {self.source} as soon as they are registered")

    def _register(self) -> None:
        told = None if self.last is None else self.last.max_desired_watermark
        versions = []
        for subtask in sorted(self._reports):
            registration = ReaderRegistrationEvent(
                subtask=subtask,
                owner=self._owner,
                attributes={"run": self._run},
                config=self._config or group_config(self._alignment),
                ceiling=told,
            )
            answer = self._client.register(self.source, registration)
            self._epochs[subtask] = answer.epoch
            versions.append(answer.alignment.config_version)
        self._take_config(versions[0])  # what came between shows in the next answer
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep_lease, name=f"lockgate-{self.source}", daemon=True)
            self._keeper.start()

    def _follow_config(self, told: Event) -> None:
        if told.config_version is not None and told.config_version != self._config_version:
            self._take_config(told.config_version)

    def _take_config(self, version: int | None) -> None:
        """The configuration as it is now: that of `version`, or a newer one, which the next answer will tell."""
        config, first = self._client.config(), self._config is None
        try:
            check_config(self._alignment, config)
        except ConfigurationError as error:
            if first:
                raise
            if config != self._config:
                log.warning("the configuration was changed: %s. The group's value rules", error)
        self._config, self._config_version = config, version

    def _find_epochs(self, error: Stale) -> None:
        """Raises `Fenced` where another run has registered. A registration of ours that was sent twice may have been applied twice."""
        try:
            newest = self._client.registered(self.source)
        except NotRegistered:
            newest = {}
        if not self._epochs.keys() <= newest.keys():
            self._epochs.clear()
            return
        for subtask in self._epochs:
            other = newest[subtask]
            if (other.owner, other.attributes.get("run")) != (self._owner, self._run):
                me = f"source {self.source}, run {self._run} of query {self._owner}"
                by = f"run {other.attributes.get('run', '?')} of query {other.owner or '?'}"
                raise Fenced(f"group {self.group}: {by} took over from {me}: {error}") from None
        self._epochs = {subtask: newest[subtask].epoch for subtask in self._epochs}

    def _events(self, finished: bool = False) -> list[tuple[str, ReportedWatermarkEvent]]:
        return [
            (
                self.source,
                ReportedWatermarkEvent(
                    subtask=subtask,
                    epoch=self._epochs[subtask],
                    watermark=standing.watermark,
                    reach=None if finished else standing.reach,
                    finished=finished,
                    splits=standing.splits,
                ),
            )
            for subtask, standing in self._reports.items()
        ]

    def _keep_lease(self) -> None:
        """Is heard every third of a lease at least, whoever plans meanwhile.

        A lease's twelfth is left for what is tried again, whose pauses are 0.5 s at most; so this is kept for leases from 6 s on.
        """
        while not self._closed.wait(min(self.update_interval_s, self._lease_s / 12)):
            with self._lock:
                if self._failed is not None or self._closed.is_set():
                    return
                due = self._outage.lasts or self._now() - self._heard_at >= self._lease_s / 6
                if not due or not self._outage.asks_now:
                    continue
                try:
                    self._attempt()
                except Exception as error:  # the next plan stops the query with it
                    log.warning("group %s: the lease of %s is kept no longer: %s", self.group, self.source, error)
