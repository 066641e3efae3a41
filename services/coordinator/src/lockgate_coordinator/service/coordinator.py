"""The coordinator, which executes every command of the protocol as part of a turn of its group.

Flink's `SourceCoordinator` is one object in the master of one job. Here, any number of coordinator
processes can share one store. No process holds state that the others need.
"""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from secrets import token_hex
from typing import Any

from lockgate.errors import InvalidMessage, Refused, UnknownGroup
from lockgate.group.commands import (
    BEFORE_ALL_REVISIONS,
    Arrive,
    Configure,
    Configured,
    Evict,
    Expire,
    Leave,
    Once,
    Opened,
    Outcome,
    Pause,
    Progress,
    Refresh,
    Register,
    RemoveLost,
    Renew,
    Reports,
    Resume,
    Taken,
    Versions,
)
from lockgate.group.expiry import Expiry, expired_readers, has_expired
from lockgate.group.registering import current
from lockgate.group.turn import Turn
from lockgate.watermark import iso
from lockgate.wire.events import (
    GroupConfig,
    ProgressEvent,
    ReaderRegistrationEvent,
    RegistrationAnswer,
    ReportedWatermarkEvent,
    SourcePause,
    WatermarkAlignmentEvent,
)
from lockgate.wire.fields import Json
from lockgate.wire.split_events import SourceEventToReaders, SplitAnswer, SplitExchange, SplitList
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.listeners import Listeners, TurnListener
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.service.announcer import Announcer, News
from lockgate_coordinator.service.commit_queue import COMMANDS_OF_A_TURN, CommitQueue
from lockgate_coordinator.service.enumerators import Arrivals, Enumerators, Listed
from lockgate_coordinator.service.sampler import Sampler
from lockgate_coordinator.service.stalls import StallDetector
from lockgate_coordinator.store import Store
from lockgate_coordinator.store.base import JournalSpan, NotDiscarded

ENTRIES_OF_A_READ = 200
"""The number of journal entries that are read from the store at a time."""


class Stopping(Exception):
    """The service is about to stop."""


class Coordinator:
    """The service that executes the commands of all groups. All methods raise `Refused` if the
    core's rules refuse a command, and `StoreUnavailable` if the store does not answer.

    An `act` is an id that makes a command take effect only once. A command that is repeated with
    the same `act` gets the same answer, for as long as the group remembers the act. The commit
    queue repeats a command if the store's answer was lost, so the coordinator generates an `act`
    for each command that comes without one. `by` is the name of the operator's token, or None.

    `listeners` are called before the coordinator's announcer and sampler. `in_turn` is the queue
    for long work on the bodies of requests and on splits, and `streams_in_turn` is the queue for
    long work on readers' streams. Callers may read names, journals and samples from `store`
    directly.
    """

    def __init__(
        self,
        store: Store,
        listeners: Sequence[TurnListener] = (),
        *,
        max_watchers: int = 10_000,
        limits: Limits = Limits(),  # noqa: B008 – frozen
        stalls: StallDetector | None = None,
    ) -> None:
        self.stopping = False
        self.store, self._limits = store, limits
        self._stalls, self.in_turn, self.streams_in_turn = stalls or StallDetector(), InTurn(), InTurn()
        self._listeners = Listeners()
        self.queue = CommitQueue(store, self._stalls, limits, self._listeners)
        self.enumerators = Enumerators(
            store, limits, self._stalls, self.queue.persistence, self.in_turn, self._listeners
        )
        self.announcer = Announcer(store, self.queue, limit=max_watchers)
        self._listeners.all = (*listeners, self.announcer, Sampler(store))

    async def configure(
        self,
        name: str,
        config: GroupConfig,
        act: str = "",
        by: str | None = None,
        *,
        only: Versions | None = None,
        never: Versions | None = None,
    ) -> Configured:
        """Create the group, or replace its configuration. Raises `PreconditionFailed` if the
        present version of the configuration is not one of `only`, or is one of `never`. None sets
        no condition.
        """
        self._limits.check_config(name, config)
        await self._check_groups(name)
        outcome = await self._once(name, Configure(config, act, by, only, never))
        assert isinstance(outcome[1], Configured)
        return outcome[1]

    async def refresh(self, name: str) -> Turn:
        """Apply the effects of passed time, such as ended leases, and return the turn."""
        return (await self.queue.submit(name, Refresh()))[0]

    async def delete(self, name: str, act: str = "") -> None:
        """Delete the group. A later group reuses no revision or epoch. Raises `UnknownGroup`."""
        readers = await self.store.discard(name, act)
        if readers is NotDiscarded.NO_GROUP:
            raise UnknownGroup(name)
        if isinstance(readers, int):
            self._listeners.deleted(name, readers)

    async def expire(self, name: str, expiry: Expiry) -> None:
        """Delete the group if it has expired, else its expired readers. Raises `UnknownGroup`."""
        turn = await self.refresh(name)
        if has_expired(turn.group, expiry, turn.now):
            loaded = await self.store.load(name)
            # Another process may have heard a reader since; or the clock has jumped.
            unchanged = loaded.group == turn.group and not loaded.jumps
            if unchanged and isinstance(await self.store.discard(name, only=loaded), int):
                self._listeners.deleted(name, len(turn.group.readers), expired=True)
        elif expired_readers(turn.group, expiry):
            await self.queue.submit(name, Expire(expiry))

    async def register(
        self, name: str, source: str, event: ReaderRegistrationEvent, by: str | None = None
    ) -> RegistrationAnswer:
        """Register a reader, and create the group if needed. Return the epoch and the event."""
        await self._check_groups(name)
        turn, outcome = await self.queue.submit(name, Register(source, event, by))
        assert isinstance(outcome, Opened)
        return RegistrationAnswer(
            subtask=event.subtask,
            epoch=outcome.epoch,
            lease_ms=turn.group.config.lease_ms,
            update_interval_ms=turn.group.config.update_interval_ms,
            alignment=turn.event,
        )

    async def report(self, name: str, source: str, event: ReportedWatermarkEvent) -> WatermarkAlignmentEvent:
        return _accepted(*await self.queue.submit(name, Reports([(source, event)]))).event

    async def report_all(
        self, name: str, reports: Sequence[tuple[str, ReportedWatermarkEvent] | InvalidMessage]
    ) -> tuple[WatermarkAlignmentEvent, list[tuple[int, InvalidMessage | Refused]]]:
        """Accept or reject each report separately. Return the group's event, and the errors of
        rejected reports by index. An `InvalidMessage` in `reports` stands for a report that could
        not be decoded, and is returned as the error of that report.
        """
        rejected = {index: item for index, item in enumerate(reports) if isinstance(item, InvalidMessage)}
        refused = dict[int, InvalidMessage | Refused](rejected)
        valid = [(index, item) for index, item in enumerate(reports) if not isinstance(item, InvalidMessage)]
        for first in range(0, max(1, len(valid)), COMMANDS_OF_A_TURN):
            some = valid[first : first + COMMANDS_OF_A_TURN]
            turn, outcome = await self.queue.submit(name, Reports([item for _, item in some]))
            assert isinstance(outcome, Taken)
            refused |= {some[place][0]: refusal for place, refusal in outcome.refusals.items()}
        return turn.event, sorted(refused.items())

    async def progress(self, name: str, source: str, event: ProgressEvent) -> WatermarkAlignmentEvent:
        """Record a task's progress within a batch, and return the group's event. More than
        `COMMANDS_OF_A_TURN` splits take several commits. Other commands may run between these
        commits, which is safe because watermarks only rise.
        """
        splits = list(event.splits.items())
        for first in range(0, max(1, len(splits)), COMMANDS_OF_A_TURN):
            part = replace(event, splits=dict(splits[first : first + COMMANDS_OF_A_TURN]))
            turn, _ = await self.queue.submit(name, Progress(source, part, event.splits))
        return turn.event

    async def leave(self, name: str, source: str, subtask: int, epoch: int, act: str = "") -> None:
        """Free the splits of a reader that has stopped, and remove the reader from the group."""
        group = (await self.refresh(name)).group
        reader = group.readers.get((source, subtask))
        if reader is not None and reader.epoch == epoch:
            await self._arrive(name, source, await self.enumerators.leave(group, source, (subtask, epoch)))
        await self._once(name, Leave(source, subtask, epoch, act))

    async def exchange(self, name: str, source: str, subtask: int, event: SplitExchange) -> SplitAnswer:
        """Record the report in `event`, or renew the reader's lease if `event` has no report. Then
        exchange the reader's splits, and return the splits that the reader must add, give back and
        stop.
        """
        if event.report is None:
            turn, _ = await self.queue.submit(name, Renew(source, subtask, event.epoch))
        else:
            turn = _accepted(*await self.queue.submit(name, Reports([(source, event.report)])))
        answer, arrivals = await self.enumerators.exchange(turn, source, subtask, event)
        await self._arrive(name, source, arrivals)
        # If nothing is added, the reader's reports name all of its splits.
        if not answer.add_splits and (gone := await self.enumerators.replaced(turn.group, source)):
            await self.queue.submit(name, RemoveLost(gone))
        return answer

    async def put_list(self, name: str, source: str, found: SplitList) -> Listed:
        """Set a static list of the source's splits (`Enumerators.put_list`)."""
        return await self.enumerators.put_list(await self.refresh(name), source, found)

    async def mail(self, name: str, source: str, event: SourceEventToReaders) -> int:
        """Queue a SourceEvent for the readers (`Enumerators.mail`)."""
        return await self.enumerators.mail((await self.refresh(name)).group, source, event)

    async def follow_splits(self, name: str, source: str, subtask: int, epoch: int) -> AsyncGenerator[News, None]:
        """Return a stream of the group's events and the source's enumerator. Both are sent at once
        and after each change; None is a heartbeat. Raises the errors of `follow`, and `Refused` if
        the reader is not in the group with this epoch.
        """
        group, key = (await self.refresh(name)).group, (source, subtask)
        current(group.readers.get(key), group, key, epoch)
        self.announcer.check_room()
        return self.announcer.follow(name, BEFORE_ALL_REVISIONS, (source, (subtask, epoch)))

    async def evict(self, name: str, source: str, subtask: int, act: str = "", by: str | None = None) -> None:
        await self._once(name, Evict(source, subtask, act, by))

    async def pause(self, name: str, source: str, by: str | None, reason: str, act: str = "") -> SourcePause | None:
        """Pause the source and return its pause. If the source was paused already, this is the
        earlier pause. Return None if `act` is repeated after the source was resumed.
        """
        turn, _ = await self._once(name, Pause(source, reason, act, by))
        return turn.group.pause_of(source)

    async def resume(self, name: str, source: str, act: str = "", by: str | None = None) -> None:
        await self._once(name, Resume(source, act, by))

    async def wait(self, name: str, after: int, wait_ms: int) -> WatermarkAlignmentEvent | None:
        """Return the group's current event as soon as its revision is above `after`. Return None if
        this does not happen within `wait_ms`, or if the service stops. Raises the errors of
        `refresh`, and `TooManyWatchers`.
        """
        event = (await self.refresh(name)).event
        return event if event.revision > after else await self.announcer.wait(name, after, wait_ms)

    async def follow(self, name: str, after: int) -> AsyncGenerator[News, None]:
        """Return a stream of the group's events, with None for heartbeats. It begins with the
        current event, unless the revision of that event is `after`. Raises the errors of `refresh`,
        and `TooManyWatchers`.
        """
        event = (await self.refresh(name)).event
        self.announcer.check_room()
        return self.announcer.follow(name, after if after <= event.revision else BEFORE_ALL_REVISIONS)

    async def journal(
        self, name: str, bounds: tuple[str, str, bool], limit: int, wanted: Callable[[Json], bool]
    ) -> tuple[list[Json], str | None]:
        """Return the first `limit` entries of the group's journal that `wanted` accepts. If there
        may be more, also return the id of the last one, otherwise None. `bounds` are the arguments
        of a `JournalSpan`. Raises `UnknownGroup` if no entry is found and the group does not exist.
        """
        span, found = JournalSpan(*bounds), list[Json]()
        while True:
            read = await self.store.read_journal(name, span, ENTRIES_OF_A_READ)
            for id, text in read:
                entry = _entry(id, text)
                if wanted(entry):
                    found.append(entry)
                if len(found) == limit:
                    return found, id
            if len(read) < ENTRIES_OF_A_READ:
                break
            last = read[-1][0]
            span = replace(span, before=last) if span.newest_first else replace(span, after=last)
        if not found:
            await self.refresh(name)
        return found, None

    async def ready(self) -> None:
        """Check that requests can be served. Raises `StoreUnavailable` if the store does not answer
        or commits fail, and `Stopping` if the service is about to stop.
        """
        if self.stopping:
            raise Stopping("this coordinator is shutting down: send the request to another one")
        self.queue.persistence.check()
        await self.store.ping()

    def end_waiting(self) -> None:
        """End all long polls and event streams, because the service is about to stop."""
        self.announcer.end_waiting()

    async def close(self) -> None:
        self._stalls.stop()
        await self._listeners.close()
        await self.store.close()

    async def _once(self, name: str, command: Once) -> tuple[Turn, Outcome]:
        return await self.queue.submit(name, command if command.act else replace(command, act=token_hex(8)))

    async def _arrive(self, name: str, source: str, arrivals: Arrivals) -> None:
        if arrivals:
            await self.queue.submit(name, Arrive(source, arrivals))

    async def _check_groups(self, name: str) -> None:
        """Raise `LimitReached` if the group is new and the store may not have another one. Groups
        that are created at the same moment may exceed the limit by a few.
        """
        known = self.store.cached(name)
        if known is not None and known.group is not None:
            return
        if (await self.store.load(name)).group is None:
            self._limits.check_groups(name, await self.store.count())


def _accepted(turn: Turn, outcome: Outcome) -> Turn:
    """Return the turn of a single report, or raise the error with which the report was refused."""
    assert isinstance(outcome, Taken)
    for refusal in outcome.refusals.values():
        raise refusal
    return turn


def _entry(id: str, text: str) -> Json:
    at, kept = int(id.partition("-")[0]), dict[str, Any](json.loads(text))
    return {"id": id, "at": at, "at_iso": iso(at), **kept}
