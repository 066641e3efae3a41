"""The commands on split enumerators: exchanges, leaving readers, lists of splits, and SourceEvents.

An exchange takes two commits. The first one is to the group. It checks the reader's epoch, records
its report or renews its lease, and computes the group's event. The second one is to the
enumerators. It changes the assignments, which have leases of their own
(`lockgate.enumerator.leases`). So an older epoch is refused before it changes a split, and a report
alone does not write the enumerators.

Each process commits the exchanges of a group one after another. If another process commits in
between, the store refuses the commit, and the exchange is repeated with the newer state.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from weakref import WeakValueDictionary

from lockgate.enumerator import exchange as rule
from lockgate.enumerator.answers import wishes
from lockgate.enumerator.arrivals import LastReports, arriving
from lockgate.enumerator.discovery import with_static_list
from lockgate.enumerator.leases import after_jumps
from lockgate.enumerator.model import Enumerator, ReaderId
from lockgate.enumerator.replaced import lost_readers, replaced
from lockgate.errors import UnknownSource
from lockgate.group.group import Group
from lockgate.group.reader import Arriving, ReaderKey
from lockgate.group.turn import Turn
from lockgate.steps import Steps
from lockgate.wire.split_events import SourceEventToReaders, SplitAnswer, SplitExchange, SplitList, StoppedSplit
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.listeners import Listeners
from lockgate_coordinator.pauses import InTurn
from lockgate_coordinator.service.persistence import Attempts, Persistence
from lockgate_coordinator.service.stalls import StallDetector
from lockgate_coordinator.store import Store
from lockgate_coordinator.store.base import LoadedSplits

Arrivals = Mapping[int, Arriving | None]
"""For each subtask, the slowest of the splits that are on their way to it, or None if none is."""

Edit = Callable[[LoadedSplits, Enumerator | None], Steps[Enumerator | None]]
"""A function that returns a source's enumerator as it is after a change. It returns None or the
same object if nothing changes.
"""


@dataclass(frozen=True, slots=True)
class Listed:
    """The enumerator with a static list, and how many splits the list adds (`new`) or omits
    (`missing`).
    """

    enumerator: Enumerator
    new: int
    missing: int


class Enumerators:
    """The commands on enumerators. `exchanges` counts the exchanges of this process so far. All
    methods may raise `Refused` and `StoreUnavailable`.
    """

    def __init__(
        self,
        store: Store,
        limits: Limits,
        stalls: StallDetector,
        persistence: Persistence,
        in_turn: InTurn,
        listeners: Listeners,
    ) -> None:
        self.exchanges = 0
        self._store = store
        self._limits = limits
        self._stalls = stalls
        self._persistence = persistence
        self._in_turn = in_turn
        self._listeners = listeners
        self._turns = WeakValueDictionary[str, asyncio.Lock]()

    async def exchange(
        self, turn: Turn, source: str, subtask: int, event: SplitExchange
    ) -> tuple[SplitAnswer, Arrivals]:
        """Exchange the splits of a reader whose epoch `turn` has confirmed. Return the answer, and
        the changed `Arrivals`, which the caller must record in the group.
        """
        group, reader, reports = turn.group, (subtask, event.epoch), LastReports(turn.group.readers, source)
        self._limits.check_splits(source, subtask, len(event.held) + len(event.given_back) + len(event.finished))
        stop: tuple[StoppedSplit, ...] = ()

        def change(loaded: LoadedSplits, before: Enumerator | None) -> Steps[Enumerator]:
            nonlocal stop
            now_ms = loaded.now_ms
            before = before or rule.create(group.config, now_ms, loaded.lost)
            done = yield from rule.exchange(
                before, reader, source, event, group.config, self._stalls.now(now_ms), reports
            )
            self._limits.check_source_splits(source, done.enumerator.count(), before.count())
            stop = done.stop
            return done.enumerator

        before, after, now_ms = await self._commit(group, source, change)
        self.exchanges += 1
        wish = wishes(after, reader, event, now_ms)
        answer = SplitAnswer(
            group=group.name,
            source=source,
            subtask=subtask,
            epoch=event.epoch,
            revision=after.revision,
            lease_ms=group.config.lease_ms,
            update_interval_ms=group.config.update_interval_ms,
            alignment=turn.event,
            add_splits=wish.add_splits,
            give_back=wish.give_back,
            stop=stop,
            no_more_splits=wish.no_more_splits,
            discover=wish.discover,
            is_processing_backlog=wish.is_processing_backlog,
            source_events=wish.source_events,
            assigning_in_ms=wish.assigning_in_ms,
        )
        return answer, _news(group, source, arriving(before, after, reader))

    async def replaced(self, group: Group, source: str) -> list[ReaderKey]:
        """Return the lost readers that block the group although other readers hold their splits."""
        lost = lost_readers(group, source)
        enumerator = (await self.loaded(group.name)).sources.get(source) if lost else None
        return [] if enumerator is None else replaced(enumerator, lost)

    async def leave(self, group: Group, source: str, reader: ReaderId) -> Arrivals:
        """Free the splits of a reader that leaves the group. Return the changed `Arrivals`, which
        the caller must record in the group.
        """

        def change(loaded: LoadedSplits, before: Enumerator | None) -> Steps[Enumerator | None]:
            if before is None:
                return None
            return (yield from rule.leave(before, reader, loaded.now_ms, LastReports(group.readers, source)))

        before, after, _ = await self._commit(group, source, change)
        return _news(group, source, arriving(before, after, reader))

    async def put_list(self, turn: Turn, source: str, found: SplitList) -> Listed:
        """Set a static list of the source's splits, and return the result. From then on, readers do
        not discover splits of the source.
        """

        def change(loaded: LoadedSplits, before: Enumerator | None) -> Steps[Enumerator]:
            before = before or rule.create(turn.group.config, loaded.now_ms, loaded.lost)
            after = yield from with_static_list(before, found, loaded.now_ms)
            self._limits.check_source_splits(source, after.count(), before.count())
            return after

        before, after, _ = await self._commit(turn.group, source, change)
        known = () if before is None else before.ids()
        return Listed(after, len(set(after.ids()).difference(known)), len(after.missing))

    async def mail(self, group: Group, source: str, event: SourceEventToReaders) -> int:
        """Queue a SourceEvent for the readers, and return its number. If an event with the same
        `id` is queued already, return the number of that event. Raises `UnknownSource` if the
        source has no enumerator.
        """

        def change(loaded: LoadedSplits, before: Enumerator | None) -> Steps[Enumerator]:
            if before is None:
                raise UnknownSource(group.name, source)
            yield from ()
            return rule.mail(before, text, event.subtask, loaded.now_ms, event.id)

        text = rule.text_of(event.event)
        _, after, _ = await self._commit(group, source, change)
        return next(each.number for each in reversed(after.to_readers) if not event.id or each.id == event.id)

    async def loaded(self, name: str) -> LoadedSplits:
        """Return the enumerators of the group's sources as the store has them now."""
        return await self._store.load_splits(name)

    async def _commit(self, group: Group, source: str, change: Edit) -> tuple[Enumerator | None, Enumerator, int]:
        """Commit `change`. If the store refuses the commit, repeat it with the newer state. Return
        the source's enumerator before and after the change, and the store's time in ms. If the
        store may have lost commits, begin a new history of every source first.
        """
        name = group.name
        async with self._turns.setdefault(name, asyncio.Lock()):
            attempts = Attempts(self._persistence, f"the splits of group {name!r}")
            while True:
                loaded = await self._store.load_splits(name)
                sources = loaded.sources
                if loaded.jumps:
                    sources = {source: after_jumps(each, loaded.jumps) for source, each in sources.items()}
                if loaded.lost:
                    sources = await self._in_turn.work(_careful(sources, group, loaded.now_ms))
                before = sources.get(source)
                after = await self._in_turn.work(change(loaded, before))
                if before is None and after is not None:
                    self._limits.check_enumerators(name, len(sources))
                if after is None or after is before:
                    return before, before or _NONE, loaded.now_ms
                if await self._store.commit_splits(loaded, {**sources, source: after}, attempts.reserve_ms):
                    attempts.got_through()
                    await self._listeners.splits_changed(name, source, before, after)
                    return before, after, loaded.now_ms
                attempts.refused()


_NONE = Enumerator(began_at=0, revision=0, assigning_at=0)


def _careful(sources: Mapping[str, Enumerator], group: Group, now_ms: int) -> Steps[dict[str, Enumerator]]:
    found = dict[str, Enumerator]()
    for source, each in sources.items():
        found[source] = yield from rule.careful(each, group.config, now_ms)
    return found


def _news(group: Group, source: str, found: Arrivals) -> Arrivals:
    """Return the arrivals in `found` that the group has not recorded yet."""
    news = dict[int, Arriving | None]()
    for subtask, split in found.items():
        reader = group.readers.get((source, subtask))
        if reader is not None and reader.arriving != split:
            news[subtask] = split
    return news
