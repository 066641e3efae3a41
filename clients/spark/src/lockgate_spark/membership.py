"""A query's place in its group: registration, reports, the ceiling, and what holds while the coordinator cannot be reached.

**The ceiling** is the `max_desired_watermark` of the last answer. Before the first answer it is MIN: a query that starts while the
coordinator is down waits for it. **An outage** (`hold`): the ceiling stays what it was last told, so the query goes on to it and
waits there; nobody runs free. Afterwards readers that the coordinator no longer knows register again and present the ceiling and
the configuration they were last told, so that a coordinator that has lost its memory does not let anybody beyond it.

**The lease** is kept by a thread that repeats the last report while a long batch is under way; the report is still true, since what
is done changes only with the next plan. A reader whose epoch is no longer the newest is fenced: its query must stop.
"""

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lockgate import watermark
from lockgate.events import CatchUp, GroupConfig, ReaderRegistrationEvent, RegistrationAnswer, ReportedWatermarkEvent, SplitReport
from lockgate.events import WatermarkAlignmentEvent as Event
from lockgate_spark.client import CoordinatorClient, NotRegistered, Stale, Unreachable
from lockgate_spark.config import Alignment
from lockgate_spark.duration import readable
from lockgate_spark.errors import ConfigurationError, Fenced

log = logging.getLogger("lockgate")

_ASK_AGAIN_S = 0.5  # during an outage
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
        self._answers: dict[int, RegistrationAnswer] = {}
        self._reports: dict[int, Standing] = {}
        self._heard_at = self._ask_at = _NEVER
        self._outage_since: float | None = None
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._keeper: threading.Thread | None = None

    @property
    def ceiling(self) -> int:
        """The group's max desired watermark as last told; MIN before the first answer."""
        return watermark.MIN if self.last is None else self.last.max_desired_watermark

    @property
    def joint(self) -> bool:
        """Whether the group makes use of `reach`."""
        return self._config is None or self._config.catch_up.value == "joint"

    @property
    def max_drift(self) -> int | None:
        """The group's max drift in ms, once it is known."""
        return None if self._config is None else self._config.max_drift_ms

    @property
    def update_interval_s(self) -> float:
        """How often the group wants to hear a reader whose report has not changed."""
        return min((answer.update_interval_ms for answer in list(self._answers.values())), default=1000) / 1000

    def epoch(self, subtask: int) -> int | None:
        """The epoch that `subtask` was registered with; None before that, and where the coordinator has forgotten it."""
        answer = self._answers.get(subtask)
        return None if answer is None else answer.epoch

    def exchange(self, standings: Mapping[int, Standing]) -> int:
        """Reports where the query stands and returns the ceiling; the last one told while the coordinator cannot be reached.

        Says nothing while nothing has changed and the update interval has not passed. Raises `Fenced` and `CoordinatorRefused`.
        """
        with self._lock:
            changed = standings != self._reports
            self._reports = dict(standings)
            due = self._now() - self._heard_at >= self.update_interval_s
            if (changed or due) and self._now() >= self._ask_at:
                self._attempt(self._report)
            return self.ceiling

    def wait_for_change(self, wait_ms: int) -> bool:
        """Waits until the group has something new to tell; False when that takes longer than `wait_ms`.

        It is not obeyed, for it may have been made without us: our lease may have ended, or the coordinator lost its memory. The next
        `exchange` reports, and what that is answered is the ceiling.
        """
        if self.last is None or self._now() < self._ask_at:
            self._closed.wait(wait_ms / 1000)
            return False
        after, news = self.last.revision, False

        def ask() -> None:
            nonlocal news
            try:
                news = self._client.wait(after, wait_ms) is not None
            except NotRegistered:
                news = True

        with self._lock:
            self._attempt(ask)
            if news:
                self._heard_at = _NEVER
        return news

    def close(self, standings: Mapping[int, Standing] | None = None) -> None:
        """Ends the membership. With `standings` the readers report that they are finished; without, their leases run out."""
        self._closed.set()
        with self._lock:
            if standings and self._answers:
                self._reports = dict(standings)
                try:
                    self._client.report(self._events(finished=True))
                except Exception as error:
                    log.warning("group %s: the last report of %s was not heard: %s", self.group, self.source, error)
            self._client.close()

    # -- inside --

    @property
    def _lease_s(self) -> float:
        return min((answer.lease_ms for answer in list(self._answers.values())), default=30_000) / 1000

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Unreachable as error:
            self._ask_at = self._now() + _ASK_AGAIN_S
            if self._outage_since is None:
                self._outage_since = self._now()
                log.warning("group %s: %s. %s holds at the last ceiling, %s", self.group, error, self.source, watermark.iso(self.ceiling))
            return
        if self._outage_since is not None:
            log.warning("group %s: the coordinator is back after %.1f s", self.group, self._now() - self._outage_since)
            self._outage_since = None

    def _report(self) -> None:
        for _ in range(2):  # the second time after a registration
            try:
                if set(self._answers) != set(self._reports):
                    self._register()
                asked_at = self._now()  # the lease may begin as early as this
                self.last = self._client.report(self._events())
            except NotRegistered:
                self._answers.clear()
                continue
            except Stale as error:
                me = f"source {self.source}, run {self._run} of query {self._owner}"
                raise Fenced(f"group {self.group}: another run took over from {me}: {error}") from None
            self._heard_at = asked_at
            return

    def _register(self) -> None:
        told = None if self.last is None else self.last.max_desired_watermark
        for subtask in sorted(self._reports):
            registration = ReaderRegistrationEvent(
                subtask=subtask,
                owner=self._owner,
                attributes={"run": self._run},
                config=self._config or group_config(self._alignment),
                ceiling=told,
            )
            self._answers[subtask] = self._client.register(self.source, registration)
        self._config = self._client.config()
        check_config(self._alignment, self._config)
        if self._keeper is None:
            self._keeper = threading.Thread(target=self._keep_lease, name=f"lockgate-{self.source}", daemon=True)
            self._keeper.start()

    def _events(self, finished: bool = False) -> list[tuple[str, ReportedWatermarkEvent]]:
        return [
            (
                self.source,
                ReportedWatermarkEvent(
                    subtask=subtask,
                    epoch=self._answers[subtask].epoch,
                    watermark=standing.watermark,
                    reach=None if finished else standing.reach,
                    finished=finished,
                    splits=standing.splits,
                ),
            )
            for subtask, standing in self._reports.items()
        ]

    def _keep_lease(self) -> None:
        """Is heard every third of a lease at least, whoever plans meanwhile."""
        while not self._closed.wait(min(self.update_interval_s, self._lease_s / 12)):
            with self._lock:
                if self._now() - self._heard_at < self._lease_s / 4 or self._now() < self._ask_at or self._closed.is_set():
                    continue
                try:
                    self._attempt(self._report)
                except Exception as error:  # the next plan meets it too, and stops the query with it
                    log.warning("group %s: the lease of %s could not be kept: %s", self.group, self.source, error)
                    self._ask_at = self._now() + _ASK_AGAIN_S


def source_name(chosen: str | None, query_name: str | None, query_id: str) -> str:
    """The query's name in its group: what was chosen, else Spark's name for it (with `-` for what the protocol has no room for)."""
    return chosen or re.sub(r"[^A-Za-z0-9._:-]", "-", query_name or query_id)[:255]


def group_config(alignment: Alignment) -> GroupConfig:
    """The configuration of a group that this query would create."""
    assert alignment.coordinator is not None
    return GroupConfig(max_drift_ms=alignment.bounds.max_drift, catch_up=CatchUp(alignment.coordinator.catch_up))


def check_config(alignment: Alignment, config: GroupConfig) -> None:
    """In a group the group's configuration rules. Raises `ConfigurationError` where this query's own contradicts it."""
    group = alignment.coordinator.group if alignment.coordinator else ""
    bounds = alignment.bounds
    if alignment.max_drift is not None and bounds.max_drift != config.max_drift_ms:
        raise ConfigurationError(
            f"Alignment(max_drift={readable(bounds.max_drift)!r}): group {group} has {readable(config.max_drift_ms)!r};"
            " leave max_drift out, or change the group's (PUT /v1/groups/{group})"
        )
    if config.max_drift_ms <= bounds.disorder:
        raise ConfigurationError(
            f"group {group} allows a drift of {readable(config.max_drift_ms)}, which is not above this query's disorder of"
            f" {readable(bounds.disorder)}: it could never read"
        )
