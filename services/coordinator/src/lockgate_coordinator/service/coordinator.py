"""The coordinator: every command of the protocol, as load, the core's rule, commit.

Flink's `SourceCoordinator` is one object in the master of one job. This coordinator is
any number of processes over one store, and no process holds anything that the others need.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from secrets import token_hex

from lockgate.enumerator.model import Enumerator
from lockgate.enumerator.replaced import without_replaced
from lockgate.errors import InvalidMessage, LimitReached, Refused, UnknownGroup
from lockgate.group import commands, source_pauses
from lockgate.group.expiry import Expiry, expired_readers, has_expired, without_readers
from lockgate.group.group import Act, Group, configured, create
from lockgate.group.reader import ReaderKey
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
    SourcePause,
    SplitProgress,
    WatermarkAlignmentEvent,
)
from lockgate.wire.split_events import DiscoveredSplits, SplitAnswer, SplitExchange
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.service.announcer import BEFORE_ALL, Announcer
from lockgate_coordinator.service.commit_queue import (
    AT_ONCE,
    CommitQueue,
    Committed,
    Look,
    PreconditionFailed,
    Reports,
    in_parts,
)
from lockgate_coordinator.service.enumerators import Arrivals, Enumerators, Listed
from lockgate_coordinator.service.pulse import Pulse
from lockgate_coordinator.service.sampler import Sampler
from lockgate_coordinator.service.split_news import EnumeratorNews
from lockgate_coordinator.store import Loaded, Store
from lockgate_coordinator.store.base import DONE_BEFORE, JournalSpan


@dataclass(frozen=True, slots=True)
class Configured:
    """The answer to a configuration: `config` with its version, and whether the group is new.
    `before`: the configuration that it replaced.
    """

    config: GroupConfig
    version: int
    created: bool
    before: GroupConfig | None = None


class Stopping(Exception):
    """The service is about to stop."""


Precondition = Callable[[Group | None], bool]


def _unrecorded(*_: object) -> AbstractContextManager[None]:
    return nullcontext()


class Coordinator:
    """All methods raise `Refused` for what the core's rules refuse, and `StoreUnavailable` when the
    store does not answer. `in_turn`: for all work on bodies and splits that may take long.

    `evicting` is entered while a reader (group, source, subtask) is evicted, `expiring` while
    readers of a group expire. Afterwards the group does not show why the reader is gone. `pulse` is
    that of the event loop; None: one of its own.

    A command with an `act` takes effect once. Repeated with the same `act` it gets the same answer,
    as long as the group knows the act. The commit queue applies a command again where the store's
    answer was lost, so each command without an `act` gets one here.
    """

    def __init__(
        self,
        store: Store,
        evicting: Callable[[str, str, int], AbstractContextManager[None]] = _unrecorded,
        expiring: Callable[[str, Sequence[ReaderKey]], AbstractContextManager[None]] = _unrecorded,
        *,
        max_watchers: int = 10_000,
        limits: Limits = Limits(),  # noqa: B008 – frozen
        pulse: Pulse | None = None,
    ) -> None:
        self.stopping = False
        self._store = store
        self._evicting, self._expiring = evicting, expiring
        self._limits = limits
        self._announcer = Announcer(self.look, shared=store.shared, limit=max_watchers)
        self._pulse, self.in_turn = pulse or Pulse(), InTurn()
        self._sampler = Sampler(store)
        self._queue = CommitQueue(store, self._committed, self._pulse)
        self.split_news = EnumeratorNews(store.load_splits, shared=store.shared)
        persistence, changed = self._queue.persistence, self.split_news.changed
        self.enumerators = Enumerators(store, limits, self._pulse, persistence, self.in_turn, changed)

    async def configure(
        self, name: str, config: GroupConfig, precondition: Precondition, act: str | None = None
    ) -> Configured:
        """Create the group or gives it another configuration. Raises `PreconditionFailed` if
        `precondition` says no.
        """
        self._limits.check_config(name, config)
        await self._check_groups(name)
        id, done, before = act or token_hex(8), Act(""), None

        def command(loaded: Loaded, group: Group | None) -> Group:
            nonlocal done, before
            if group is not None and (known := group.act(id)) is not None:
                done = known
                return group
            if not precondition(group):
                raise PreconditionFailed(
                    "there is no such group yet" if group is None else "the configuration has changed: GET it first"
                )
            before = None if group is None else group.config
            after = create(name, config, loaded.now_ms, floor=loaded.version) if group is None else group
            after = configured(after, config, loaded.now_ms)
            done = Act(id, after.config_version, created=group is None)
            return after if after is group else after.with_act(done)

        await self._queue.submit(name, command)
        return Configured(config, done.config_version, done.created, before)

    async def look(self, name: str, announced: int = BEFORE_ALL) -> Committed:
        """Return the group evaluated now, so that leases that have ended are taken into account.

        `announced`: a revision that this process has announced. If the store has lost it, the group
        gets a revision above it.
        """
        return await self._queue.submit(name, Look(announced))

    async def names(self, after: str, limit: int) -> list[str]:
        return await self._store.names(after, limit)

    async def sampled(self, name: str) -> list[tuple[int, str]]:
        """Return the group's samples by their time, ms."""
        return await self._store.sampled(name)

    async def noted(self, name: str, span: JournalSpan, limit: int) -> list[tuple[str, str]]:
        """Entries of the group's journal, each with its id."""
        return await self._store.noted(name, span, limit)

    async def forget(self, name: str, act: str | None = None) -> None:
        """Delete the group. A successor never reuses its revisions and epochs."""
        readers = await self._store.discard(name, act or "")
        if readers is None:
            raise UnknownGroup(name)
        if readers != DONE_BEFORE:
            self._announcer.deleted(name)

    async def expire(self, name: str, expiry: Expiry) -> None:
        """Remove the readers that have expired, or the whole group. Raises `UnknownGroup`."""
        committed = await self.look(name)
        if has_expired(committed.group, expiry, committed.now_ms, committed.hearing):
            loaded = await self._store.load(name)
            # Another process may have heard a reader since; or the clock has leapt.
            if loaded.group == committed.group and not loaded.leaps and await self._store.delete(loaded):
                self._announcer.deleted(name)
            return
        keys = expired_readers(committed.group, expiry)
        if keys:
            with self._expiring(name, keys):
                await self._change(name, lambda group, _: without_readers(group, expired_readers(group, expiry)))

    async def register(self, name: str, source: str, event: ReaderRegistrationEvent) -> RegistrationAnswer:
        """Create an unknown group with the configuration that the reader knows, or with the
        defaults.
        """
        await self._check_groups(name)

        def command(loaded: Loaded, group: Group | None) -> Group:
            self._limits.check_registration(group, name, source, event)
            if group is None:
                group = create(name, event.config or GroupConfig(), loaded.now_ms, floor=loaded.version)
            return commands.register(group, source, event, loaded.now_ms, self._pulse.hearing(loaded.now_ms))

        committed = await self._queue.submit(name, command)
        return RegistrationAnswer(
            subtask=event.subtask,
            epoch=committed.own.readers[source, event.subtask].epoch,
            lease_ms=committed.group.config.lease_ms,
            update_interval_ms=committed.group.config.update_interval_ms,
            alignment=committed.event,
        )

    async def report(self, name: str, source: str, event: ReportedWatermarkEvent) -> WatermarkAlignmentEvent:
        if event.splits:
            self._limits.check_splits(source, event.subtask, len(event.splits))
        committed = await self._queue.submit(name, Reports([(source, event)]))
        for refusal in committed.refusals.values():
            raise refusal
        return committed.event

    async def report_all(
        self, name: str, reports: Sequence[tuple[str, ReportedWatermarkEvent] | InvalidMessage]
    ) -> tuple[WatermarkAlignmentEvent, list[tuple[int, InvalidMessage | Refused]]]:
        """Each report is judged alone. Answers the event and the rejected ones, by index."""
        rejected, accepted = dict[int, InvalidMessage | Refused](), list[tuple[str, ReportedWatermarkEvent]]()
        places = list[int]()
        for index, item in enumerate(reports):
            refusal = item if isinstance(item, InvalidMessage) else self._too_many_splits(*item)
            if refusal is not None:
                rejected[index] = refusal
            elif not isinstance(item, InvalidMessage):
                accepted.append(item)
                places.append(index)
        for first in range(0, max(1, len(accepted)), AT_ONCE):
            committed = await self._queue.submit(name, Reports(accepted[first : first + AT_ONCE]))
            rejected |= {places[first + index]: refusal for index, refusal in committed.refusals.items()}
        return committed.event, sorted(rejected.items())

    async def progress(self, name: str, source: str, event: ProgressEvent) -> WatermarkAlignmentEvent:
        """Of very many splits so many at a time as make one commit; what they say only rises."""
        first, *others = in_parts(event)
        change = partial(self._progressed, source=source, named=event.splits)
        answer = await self._change(name, partial(change, event=first))
        for part in others:
            answer = await self._change(name, partial(change, event=part))
        return answer

    async def leave(self, name: str, source: str, subtask: int, epoch: int, act: str | None = None) -> None:
        """Its splits go on first: as long as it is there, the group knows where they stand."""
        group = (await self.look(name)).group
        reader = group.readers.get((source, subtask))
        if reader is not None and reader.epoch == epoch:
            await self._arrive(name, source, await self.enumerators.leave(group, source, (subtask, epoch)))
        await self._once(name, lambda group, now_ms: commands.leave(group, source, subtask, epoch, now_ms), act)

    async def exchange(self, name: str, source: str, subtask: int, event: SplitExchange) -> SplitAnswer:
        """One exchange of a reader about its splits, with its report or without."""
        report = event.report
        if report is None:
            committed = await self._queue.submit(name, partial(_renew, source=source, subtask=subtask, event=event))
        else:
            self._limits.check_splits(source, subtask, len(report.splits))
            committed = await self._queue.submit(name, Reports([(source, report)]))
            for refusal in committed.refusals.values():
                raise refusal
        answer, arrivals = await self.enumerators.exchange(committed, source, subtask, event)
        await self._arrive(name, source, arrivals)
        # Where nothing is added its reports have all of its splits.
        if not answer.add_splits and (gone := await self.enumerators.replaced(committed.group, source)):
            await self._change(name, lambda group, _: without_replaced(group, gone))
        return answer

    async def put_list(self, name: str, source: str, found: DiscoveredSplits) -> Listed:
        """Return an operator's list of a source's splits."""
        return await self.enumerators.put_list(await self.look(name), source, found)

    async def follow_splits(
        self, name: str, source: str, subtask: int, epoch: int
    ) -> AsyncGenerator[WatermarkAlignmentEvent | Enumerator | None, None]:
        """All news that concern one reader: the group's event and the source's enumerator, each at
        once and when it has changed; None is a heartbeat. Raises as `follow`, and where the reader
        is not in the group with this epoch.
        """
        committed = await self.look(name)
        commands.check_epoch(committed.group, source, subtask, epoch)
        events = await self.follow(name, BEFORE_ALL)
        interval_s = committed.group.config.update_interval_ms / 2_000
        return self.split_news.follow(name, source, (subtask, epoch), events, interval_s)

    async def evict(self, name: str, source: str, subtask: int, act: str | None = None) -> None:
        with self._evicting(name, source, subtask):
            await self._once(name, lambda group, now_ms: commands.evict(group, source, subtask), act)

    async def pause(
        self, name: str, source: str, by: str | None, reason: str, act: str | None = None
    ) -> SourcePause | None:
        """Return the pause that holds now: an earlier one, if the source was paused before. None
        where a repetition of `act` comes after the source was resumed.
        """

        def change(group: Group, now_ms: int) -> Group:
            return source_pauses.pause(group, SourcePause(source=source, at=now_ms, by=by, reason=reason), now_ms)

        return (await self._once(name, change, act)).pause_of(source)

    async def resume(self, name: str, source: str, act: str | None = None) -> None:
        await self._once(name, lambda group, now_ms: source_pauses.resume(group, source, now_ms), act)

    async def wait(self, name: str, after: int, wait_ms: int) -> WatermarkAlignmentEvent | None:
        """Return the event once its revision is above `after`; None when the time ran out."""
        event = (await self.look(name)).event
        return event if event.revision > after else await self._announcer.wait(name, after, wait_ms)

    async def follow(self, name: str, after: int) -> AsyncGenerator[WatermarkAlignmentEvent | None, None]:
        """Yield the event, if its revision is not `after` itself, then each newer one; None is a
        heartbeat.

        Raises what `look` raises, and `TooManyWatchers`, at once and not with the first event.
        """
        event = (await self.look(name)).event
        self._announcer.check_room()
        return self._announcer.follow(name, after if after <= event.revision else BEFORE_ALL)

    @property
    def watchers(self) -> int:
        """How many long polls and streams wait now."""
        return self._announcer.watchers

    @property
    def committed(self) -> tuple[int, int]:
        """How many commits there were so far, and of how many commands."""
        return self._queue.commits, self._queue.commands

    async def ready(self) -> None:
        """Raise `StoreUnavailable` where commits would fail, and `Stopping` before the end."""
        if self.stopping:
            raise Stopping("this coordinator is shutting down: send the request to another one")
        self._queue.persistence.check()
        await self._store.ping()

    def end_waiting(self) -> None:
        """End all long polls as if their time had run out: the service is about to stop."""
        self._announcer.close()

    async def close(self) -> None:
        self.end_waiting()
        self._pulse.stop()
        await self._sampler.close()
        await self._store.close()

    def _committed(self, committed: Committed) -> None:
        self._announcer.announce(committed)
        self._sampler.seen(committed)

    async def _once(self, name: str, change: Callable[[Group, int], Group], act: str | None) -> WatermarkAlignmentEvent:
        """Return a change that a repetition would refuse or undo: the group remembers the act."""
        id = act or token_hex(8)

        def once(group: Group, now_ms: int) -> Group:
            return group if group.act(id) is not None else change(group, now_ms).with_act(Act(id))

        return await self._change(name, once)

    async def _arrive(self, name: str, source: str, arrivals: Arrivals) -> None:
        if arrivals:
            await self._change(name, lambda group, _: commands.arrive(group, source, arrivals))

    def _progressed(
        self, group: Group, now_ms: int, *, source: str, named: Mapping[str, SplitProgress], event: ProgressEvent
    ) -> Group:
        """`named`: the splits of the whole request, of which the event may have a part. All of them
        are refused, or none.
        """
        changed = commands.progress(group, source, event, now_ms, self._pulse.hearing(now_ms))
        reported = changed.readers[source, event.subtask].reported
        known = {} if reported is None or reported.epoch != event.epoch else reported.splits
        self._limits.check_splits(source, event.subtask, len(known) + sum(name not in known for name in named))
        return changed

    def _too_many_splits(self, source: str, event: ReportedWatermarkEvent) -> LimitReached | None:
        try:
            self._limits.check_splits(source, event.subtask, len(event.splits))
        except LimitReached as refusal:
            return refusal
        return None

    async def _check_groups(self, name: str) -> None:
        """Raise `LimitReached` if the group would be one too many. Several that are made at the
        same moment may be a few too many.
        """
        known = self._store.cached(name)
        if known is not None and known.group is not None:
            return
        if (await self._store.load(name)).group is None:
            self._limits.check_groups(name, await self._store.count())

    async def _change(self, name: str, change: Callable[[Group, int], Group]) -> WatermarkAlignmentEvent:
        def command(loaded: Loaded, group: Group | None) -> Group:
            if group is None:
                raise UnknownGroup(name)
            return change(group, loaded.now_ms)

        return (await self._queue.submit(name, command)).event


def _renew(loaded: Loaded, group: Group | None, *, source: str, subtask: int, event: SplitExchange) -> Group:
    if group is None:
        raise UnknownGroup(loaded.name)
    return commands.renew(group, source, subtask, event.epoch, loaded.now_ms)
