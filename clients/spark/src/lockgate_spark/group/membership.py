"""A query's place in its group: registration, reports, the ceiling, and what holds while the
coordinator cannot be reached.

**The ceiling** is the `max_desired_watermark` of what the query was last told: by the answer to a
report of its own, or, between its plans, by what the group tells others in this process and all on
its stream. Of both the newest revision rules. Before the first answer it is MIN.

*When news may be gone by.* A lower ceiling always counts. A higher one may have been made without
us: our lease had ended, or the coordinator lost its memory and began anew. So it counts only while
our last report that was answered is younger than a lease, and where it comes from the group that
answered it: one that is made anew has another `config_version`. Otherwise it is a reason to report
at once, and what that is answered is the ceiling. (Whom an operator evicts learns of it with its
next report.)

**An outage** begins with a call that fails and ends with a report that is answered; `outage` says
what is done meanwhile. Afterwards readers that the coordinator no longer knows register again and
present the ceiling and the configuration they were last told, so that a coordinator that has lost
its memory does not let anybody beyond it.

**The end.** A reader whose epoch is no longer the newest is fenced: its query must stop, and no
other one. What is found out while the query is busy with a batch, the next plan raises.
"""

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from lockgate import watermark
from lockgate.wire.events import CatchUp, GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent, SplitReport
from lockgate.wire.events import WatermarkAlignmentEvent as Event
from lockgate_spark.config import Alignment
from lockgate_spark.duration import milliseconds
from lockgate_spark.errors import ConfigurationError, CoordinatorUnavailable, Fenced
from lockgate_spark.group.agreement import check_config, group_config
from lockgate_spark.group.answers import Interrupted
from lockgate_spark.group.batches import acquired
from lockgate_spark.group.client import NotACoordinator, NotRegistered, Report, Stale, Unreachable
from lockgate_spark.group.outage import Coordination, Policy
from lockgate_spark.group.session import GroupSession

log = logging.getLogger("lockgate")

_NEVER = -1e9


@dataclass(frozen=True, slots=True)
class Standing:
    """What one source of the query has to report. Times in ms. `idle`: it holds nobody."""

    watermark: int
    reach: int | None
    splits: Mapping[str, SplitReport] = field(default_factory=dict)
    idle: bool = False


@dataclass(frozen=True, slots=True)
class _LastWord:
    """The last report of a run is of another kind. `park_ms`: for how long the readers go on
    holding the group; None: they are finished.
    """

    park_ms: int | None


class Membership:
    """The readers of one query run in one group: reader `i` is source `i` of the query.
    Thread-safe. Gives `session` back when closed.

    `last`: what the query goes by, as the group told it; `coordination`: what the last plan went
    by.
    """

    def __init__(self, session: GroupSession, alignment: Alignment, source: str, owner: str, run: str) -> None:
        assert alignment.coordinator is not None
        self.group = session.group
        self.source = source
        self.last: Event | None = None
        self.coordination = Coordination.TOLD
        self._session = session
        self._alignment = alignment
        self._owner, self._run = owner, run
        self._coordinator = alignment.coordinator
        self._policy = Policy.of(alignment.coordinator)
        most = alignment.coordinator.max_batch
        self._max_batch_s = float("inf") if most is None else milliseconds("Coordinator(max_batch)", most) / 1000
        self._epochs: dict[int, int] = {}
        self._standings: Mapping[int, Standing] = {}
        # as the coordinator has it: what has been answered in this epoch
        self._known: Mapping[int, Standing] = {}
        self._said: Mapping[int, Standing] = {}  # what is on its way
        self._last_word: _LastWord | None = None
        self._planned_at = session.now()
        self._heard_at = _NEVER  # when the last report that was answered was sent, at the latest
        self._version: int | None = None  # of the configuration, as that answer told
        self._overheard: Event | None = None  # the news since the last report was sent
        self._doubts = False
        self._given = watermark.MIN  # the ceiling of the last plan
        self._checked: GroupConfig | None = None
        self._lock = threading.Lock()  # one plan at a time, or the keeper
        self._closed = threading.Event()
        self._failed: Exception | None = None
        session.enter(self)

    @property
    def ceiling(self) -> int:
        """The group's max desired watermark as last told; MIN before the first answer."""
        return watermark.MIN if self.last is None else self.last.max_desired_watermark

    @property
    def joint(self) -> bool:
        """Whether the group makes use of `reach`."""
        config = self._session.config
        return config is None or config.catch_up is CatchUp.JOINT

    @property
    def max_drift(self) -> int | None:
        """The group's max drift in ms, once it is known."""
        config = self._session.config
        return None if config is None else config.max_drift_ms

    @property
    def update_interval_s(self) -> float:
        """How often the group wants to hear a reader whose report has not changed."""
        return self._session.update_interval_s

    @property
    def has_news(self) -> bool:
        """Whether the next plan may come out differently from the last one because of the group."""
        in_force = self._in_force()
        asks = self._doubts and self._session.outage.asks_now and in_force is not Coordination.PROCEEDING
        return asks or self._given != self._ceiling_under(in_force)

    def epoch(self, subtask: int) -> int | None:
        """The epoch that `subtask` was registered with; None before that, and where the coordinator
        has forgotten it.
        """
        return self._epochs.get(subtask)

    def exchange(self, standings: Mapping[int, Standing]) -> int:
        """Reports where the query stands and returns the ceiling of the plan to be made.

        Says nothing while nothing has changed that the others wait for, and the update interval has
        not passed. Raises `Fenced`, `CoordinatorRefused`, and `CoordinatorUnavailable` where an
        outage is to stop the query.
        """
        outage = self._session.outage
        # asking is left to the keeper, which nobody waits for
        if self._in_force() is Coordination.PROCEEDING:
            self._take(standings)
            return self._give()
        with self._lock:
            if self._failed is not None:
                raise self._failed
            urgent = _urgent(self._standings) != _urgent(standings)
            self._take(standings)
            if (urgent or outage.lasts or self.is_due(self._session.update_interval_s)) and outage.asks_now:
                self._attempt()
            if self._policy.fails(outage.lasted_s):
                raise CoordinatorUnavailable(
                    f"group {self.group}: the coordinator could not be reached for {outage.lasted_s:.0f} s, and"
                    f" Coordinator(on_outage='fail', hold_for=…) lets {self.source} hold for "
                    f"{self._policy.hold_for_s:g} s"
                )
            return self._give()

    def wait_for_change(self, wait_ms: int) -> bool:
        """Waits until the group has something new to tell; False when that takes longer than
        `wait_ms`, and at the end.
        """
        with self._session.changed:
            self._session.changed.wait_for(lambda: self.has_news or self._closed.is_set(), wait_ms / 1000)
            return self.has_news and not self._closed.is_set()

    def close(self, standings: Mapping[int, Standing] | None = None, returns: bool = False) -> None:
        """Ends the membership. With `standings` the readers report that they are finished, or where
        the query `returns`, as a scheduled one does, and has set `park`, that they hold the group
        for so long. Without `standings` their leases run out.

        Takes the coordinator's `timeout` and a second at most, whatever is under way.
        """
        with self._session.changed:
            if self._closed.is_set():
                return
            self._closed.set()
            self._session.changed.notify_all()
        try:
            with acquired(self._lock, self._session.client, in_a_hurry=True):
                if standings and self._epochs:
                    park = self._coordinator.park if returns else None
                    park_ms = None if park is None else milliseconds("Coordinator(park)", park)
                    self._standings, self._last_word = dict(standings), _LastWord(park_ms)
                    self._uninterrupted(in_a_hurry=True)
        except Exception as error:
            log.warning("group %s: the last report of %s was not heard: %s", self.group, self.source, error)
        finally:
            self._session.leave(self)

    # -- as the session sees it --

    def is_due(self, after_s: float) -> bool:
        """Whether it has something to repeat and has not been heard for so many seconds. A batch
        above `max_batch` is not kept alive.
        """
        now = self._session.now()
        silent = (
            not self._epochs
            or self._failed is not None
            or self._closed.is_set()
            or now - self._planned_at > self._max_batch_s
        )
        return not silent and (self._doubts or now - self._heard_at >= after_s)

    def reports(self) -> list[Report]:
        """What its readers have to say now. Splits are named once: 5,000 of them are 600 kB, and
        named again they would undo what executors have told of them since.
        """
        self._overheard, self._doubts = None, False
        epochs, last, self._said = self._epochs.copy(), self._last_word, self._standings
        return [
            (
                self.source,
                ReportedWatermarkEvent(
                    subtask=subtask,
                    epoch=epochs[subtask],
                    watermark=standing.watermark,
                    idle=standing.idle,
                    reach=standing.reach if last is None else None,
                    finished=last is not None and last.park_ms is None,
                    park_ms=None if last is None else last.park_ms,
                    splits={} if self._known is self._said else standing.splits,
                ),
            )
            for subtask, standing in self._said.items()
            if subtask in epochs
        ]

    def answered(self, event: Event, asked_at: float) -> None:
        """The lease may begin as early as at `asked_at`."""
        with self._session.changed:
            news = self._overheard
            self.last = news if news is not None and news.revision > event.revision else event
            self._version, self._heard_at, self._known = event.config_version, asked_at, self._said

    def hear(self, event: Event) -> None:
        """News that is no answer to a report of this query; see above. With `session.changed`
        held.
        """
        if self.last is None or event.revision <= self.last.revision:
            return
        alive = self._session.now() - self._heard_at < self._session.lease_s
        ours = alive and event.config_version is not None and event.config_version == self._version
        self._doubts |= not ours
        if ours or event.max_desired_watermark <= self.ceiling:
            self.last = self._overheard = event

    def doubt(self) -> None:
        """What it was told may no longer hold."""
        self._doubts = True

    def keep(self) -> None:
        """A report on the keeper's thread, unless a plan is being made, which reports by itself."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            if self._standings and self._failed is None and not self._closed.is_set():
                self._attempt()
        except Exception as error:  # the next plan stops the query with it
            log.warning("group %s: the lease of %s is kept no longer: %s", self.group, self.source, error)
        finally:
            self._lock.release()

    # -- inside --

    def _take(self, standings: Mapping[int, Standing]) -> None:
        if standings != self._standings:
            self._standings = dict(standings)
        self._planned_at = self._session.now()

    def _give(self) -> int:
        """The ceiling for a plan."""
        before, self.coordination = self.coordination, self._in_force()
        if self.coordination is Coordination.PROCEEDING and before is not Coordination.PROCEEDING:
            log.warning(
                "group %s: %s goes on without the group's ceiling; its own splits stay level", self.group, self.source
            )
        self._given = self._ceiling_under(self.coordination)
        return self._given

    def _in_force(self) -> Coordination:
        return self._policy.in_force(self._session.outage.lasted_s)

    def _ceiling_under(self, coordination: Coordination) -> int:
        return watermark.MAX if coordination is Coordination.PROCEEDING else self.ceiling

    def _attempt(self) -> None:
        """One report. Where it is not answered the outage begins or goes on."""
        outage = self._session.outage
        try:
            self._report()
        except Interrupted:
            self._doubts = True  # a query of this process ends: perhaps this one
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
            outage.ends()

    def _lost(self, error: Exception) -> None:
        held = f"{self.source} holds at the last ceiling, {watermark.iso(self.ceiling)}{self._policy}"
        self._session.outage.begins(error, held)

    def _report(self) -> None:
        for _ in range(3):  # again after a registration, and with an epoch that was not known
            try:
                if self._epochs.keys() != self._standings.keys():
                    self._register()
                self._uninterrupted()
                self._session.follow_config(self._version)
            except NotRegistered:
                self._epochs = {}
                continue
            except Stale as error:
                self._find_epochs(error)
                continue
            self._check_config()
            return
        raise Unreachable(f"the coordinator forgets the readers of {self.source} as soon as they are registered")

    def _uninterrupted(self, in_a_hurry: bool = False) -> None:
        """Reports; again where another query, at its end, was in too much of a hurry to wait for
        that. Raises `Interrupted` at our own.
        """
        while True:
            try:
                return self._session.batches.report(self, in_a_hurry)
            except Interrupted:
                if self._closed.is_set() and not in_a_hurry:
                    raise

    def _register(self) -> None:
        told = None if self.last is None else self.last.max_desired_watermark
        versions, epochs = [], {}
        for subtask in sorted(self._standings):
            registration = ReaderRegistrationEvent(
                subtask=subtask,
                owner=self._owner,
                attributes={"run": self._run},
                config=self._session.config or group_config(self._alignment),
                ceiling=told,
            )
            answer = self._session.client.register(self.source, registration)
            epochs[subtask] = answer.epoch
            versions.append(answer.alignment.config_version)
        self._epochs, self._known = epochs, {}
        self._leave_what_is_gone()
        self._session.follow_config(versions[0])  # what came between shows in the next answer
        self._check_config()

    def _leave_what_is_gone(self) -> None:
        """Sources that have names may be taken out of a query. Nobody else would end their readers:
        lost or parked, they hold the group.
        """
        if self._epochs.keys() == set(range(len(self._epochs))):
            return  # numbered one by one: no source has a name
        for subtask, reader in self._session.client.registered(self.source).items():
            if reader.owner == self._owner and subtask not in self._epochs:
                try:
                    self._session.client.leave(self.source, subtask, reader.epoch)
                except (NotRegistered, Stale):
                    continue
                log.info(
                    "group %s: reader %s/%d has left, for its source is no longer in the query",
                    self.group,
                    self.source,
                    subtask,
                )

    def _check_config(self) -> None:
        config, before = self._session.config, self._checked
        if config is None or config is before:
            return
        try:
            check_config(self._alignment, config)
        except ConfigurationError as error:
            if before is None:
                raise
            if config != before:
                log.warning("the configuration was changed: %s. The group's value rules", error)
        self._checked = config

    def _find_epochs(self, error: Stale) -> None:
        """Raises `Fenced` where another run has registered. A registration of ours that was sent
        twice may have been applied twice.
        """
        try:
            newest = self._session.client.registered(self.source)
        except NotRegistered:
            newest = {}
        if not self._epochs.keys() <= newest.keys():
            self._epochs = {}
            return
        for subtask in self._epochs:
            other = newest[subtask]
            if (other.owner, other.attributes.get("run")) != (self._owner, self._run):
                me = f"source {self.source}, run {self._run} of query {self._owner}"
                by = f"run {other.attributes.get('run', '?')} of query {other.owner or '?'}"
                raise Fenced(f"group {self.group}: {by} took over from {me}: {error}") from None
        self._epochs, self._known = {subtask: newest[subtask].epoch for subtask in self._epochs}, {}


def _urgent(standings: Mapping[int, Standing]) -> list[object]:
    """What the others wait for. That a log's end has moved can wait for the update interval."""
    return [(subtask, standing.watermark, standing.reach) for subtask, standing in standings.items()]
