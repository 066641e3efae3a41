"""The figures of all groups for one scrape of Prometheus. Reports are served in between.

Counting a group of 10,000 readers in one go would keep reports waiting. So after each
`READERS_BETWEEN_LOOKS` readers and splits other requests are served, and the group is evaluated
again. The figures of one group are therefore from several moments, but each reader's own are from
one.
"""

import asyncio

from lockgate.errors import Refused
from lockgate.group.reader import Reader, ReaderKey
from lockgate.group.turn import Turn
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import SplitState
from lockgate_coordinator.service.census import state_of
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.inspected_splits import summaries
from lockgate_coordinator.store import StoreUnavailable, UnreadableGroup
from lockgate_coordinator.telemetry.group_figures import GroupFigures, Scrape, SourceFigures
from lockgate_coordinator.telemetry.totals import OTHER

MOST_GROUPS = 1_000
"""How many groups have figures of their own: the first ones by name."""

MOST_SOURCES_OF_A_GROUP = 100
"""How many sources of a group have figures of their own. The figures of the others are added up
under OTHER.
"""

MOST_NAMED_SPLITS = 10_000
"""How many splits have figures of their own, over all groups, if splits are wanted at all."""

READERS_BETWEEN_LOOKS = 1_000
"""Readers and splits that are counted before other requests are served: about 2 ms."""

GROUPS_AT_ONCE = 16
"""How many groups are evaluated at the same time."""


async def scrape_groups(coordinator: Coordinator, *, name_splits: bool) -> Scrape:
    """Return the figures of all groups. If the store does not answer, of those before the
    failure.
    """
    scrape = Scrape()
    left = MOST_NAMED_SPLITS if name_splits else 0
    try:
        names = await coordinator.names("", MOST_GROUPS + 1)
        scrape.more_groups = len(names) > MOST_GROUPS
        for begin in range(0, min(len(names), MOST_GROUPS), GROUPS_AT_ONCE):
            some = names[begin : min(begin + GROUPS_AT_ONCE, MOST_GROUPS)]
            looks = await asyncio.gather(*(_look(coordinator, scrape, name) for name in some))
            for turn in looks:
                if turn is not None:
                    scrape.groups.append(await _figures(coordinator, scrape, turn, left))
                    left -= len(scrape.groups[-1].named_splits)
                    scrape.groups[-1].assignments = await _assignments(coordinator, turn.group.name)
            await asyncio.sleep(0)
    except StoreUnavailable:
        scrape.complete = False
    scrape.commits, scrape.commands = coordinator.committed
    scrape.exchanges = coordinator.enumerators.exchanges
    return scrape


async def _look(coordinator: Coordinator, scrape: Scrape, name: str) -> Turn | None:
    try:
        return await coordinator.refresh(name)
    except UnreadableGroup:
        scrape.unreadable.append(name)
        return None
    except Refused:  # deleted a moment ago
        return None


async def _assignments(coordinator: Coordinator, name: str) -> dict[str, dict[str, int]]:
    try:
        loaded = await coordinator.enumerators.loaded(name)
    except UnreadableGroup:  # it has a log line, and its own readers are counted
        return {}
    return summaries(loaded.sources, loaded.now_ms)


async def _figures(coordinator: Coordinator, scrape: Scrape, turn: Turn, most_named: int) -> GroupFigures:
    group, event = turn.group, turn.event
    figures = GroupFigures(
        group.name, event.revision, event.group_watermark, event.max_desired_watermark, len(group.sources_missing)
    )
    looked_at = 0
    for key in list(group.readers):
        reader = turn.group.readers.get(key)
        if reader is not None:
            looked_at += 1 + _count(figures, turn, key, reader, most_named)
        if looked_at >= READERS_BETWEEN_LOOKS:
            await asyncio.sleep(0)
            again = await _look(coordinator, scrape, group.name)
            if again is None:
                break
            turn, looked_at = again, 0
    return figures


def _count(figures: GroupFigures, turn: Turn, key: ReaderKey, reader: Reader, most_named: int) -> int:
    """Add one reader to the figures. Returns how many splits were counted."""
    state = state_of(turn.group, reader, turn.now.ms)
    figures.readers[state] += 1
    source = _source(figures, key[0])
    reported = reader.reported
    if reader.held_since is not None and not reader.lost:
        source.waiting += 1
        source.overdue += reader.overdue
    if reported is None:
        return 0
    if reported.facts is not None and not reported.finished:
        source.take(reported.facts, turn.now.ms, reads=state == "active")
    if (
        state == "active"
        and MIN < reported.watermark < MAX
        and (source.foremost is None or reported.watermark > source.foremost)
    ):
        source.foremost = reported.watermark
    for name, split in reported.splits.items():
        figures.splits[SplitState(split.state).value] += 1
        if len(figures.named_splits) < most_named:
            figures.named_splits.append((*key, name, split))
    return len(reported.splits)


def _source(figures: GroupFigures, name: str) -> SourceFigures:
    source = figures.sources.get(name)
    if source is None:
        of_its_own = len(figures.sources) < MOST_SOURCES_OF_A_GROUP
        source = figures.sources.setdefault(name if of_its_own else OTHER, SourceFigures())
    return source
