"""Groups in figures, for a scrape: every reader is looked at once, a few at a time, and reports go
on in between.

A group of 100,000 readers cannot be looked through at once while reports wait. So after each
`AT_ONCE` readers and splits the others get their turn, and then the group is looked at again: the
figures of one group are those of a few moments, each reader's own are of one.
"""

import asyncio

from lockgate.errors import Refused
from lockgate.group.readers import Reader, ReaderKey
from lockgate.watermark import MAX, MIN
from lockgate.wire.events import SplitState
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.inspection import state_of
from lockgate_coordinator.service.turns import Turn
from lockgate_coordinator.store import StoreUnavailable
from lockgate_coordinator.telemetry.figures import Found, GroupFigures, SourceFigures
from lockgate_coordinator.telemetry.totals import OTHER

MOST_GROUPS = 1_000
"""How many groups are told of one by one, the first by name."""

MOST_SOURCES_OF_A_GROUP = 100
"""How many sources of a group are told of one by one; the others' figures are together under
OTHER.
"""

MOST_NAMED_SPLITS = 10_000
"""How many splits are told of one by one, over all groups, where that is wanted at all."""

AT_ONCE = 1_000
"""Readers and splits that are looked at before others get their turn: about 2 ms."""

LOOKS_AT_ONCE = 16
"""How many groups are asked for at the same time."""


async def find(coordinator: Coordinator, *, name_splits: bool) -> Found:
    """All groups, each evaluated once. Where the store does not answer, what was found until
    then.
    """
    found = Found()
    left = MOST_NAMED_SPLITS if name_splits else 0
    try:
        names = await coordinator.names("", MOST_GROUPS + 1)
        found.more = len(names) > MOST_GROUPS
        for begin in range(0, min(len(names), MOST_GROUPS), LOOKS_AT_ONCE):
            some = names[begin : min(begin + LOOKS_AT_ONCE, MOST_GROUPS)]
            turns = await asyncio.gather(*(_look(coordinator, name) for name in some))
            for turn in turns:
                if turn is not None:
                    found.groups.append(await _figures(coordinator, turn, left))
                    left -= len(found.groups[-1].named_splits)
            await asyncio.sleep(0)
    except StoreUnavailable:
        found.answered = False
    found.turns, found.commands = coordinator.turned
    return found


async def _look(coordinator: Coordinator, name: str) -> Turn | None:
    try:
        return await coordinator.look(name)
    except Refused:  # deleted a moment ago
        return None


async def _figures(coordinator: Coordinator, turn: Turn, most_named: int) -> GroupFigures:
    group, event = turn.group, turn.event
    figures = GroupFigures(
        group.name, event.revision, event.group_watermark, event.max_desired_watermark, len(group.sources_missing)
    )
    looked_at = 0
    for key in list(group.readers):
        reader = turn.group.readers.get(key)
        if reader is not None:
            looked_at += 1 + _count(figures, turn, key, reader, most_named)
        if looked_at >= AT_ONCE:
            await asyncio.sleep(0)
            again = await _look(coordinator, group.name)
            if again is None:
                break
            turn, looked_at = again, 0
    return figures


def _count(figures: GroupFigures, turn: Turn, key: ReaderKey, reader: Reader, most_named: int) -> int:
    """How many splits were looked at."""
    state = state_of(turn.group, reader, turn.now_ms)
    figures.readers[state] += 1
    source = _source(figures, key[0])
    reported = reader.reported
    if reader.held_since is not None and not reader.lost:
        source.waiting += 1
        source.overdue += reader.overdue
    if reported is None:
        return 0
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
    found = figures.sources.get(name)
    if found is None:
        known = len(figures.sources) < MOST_SOURCES_OF_A_GROUP
        found = figures.sources.setdefault(name if known else OTHER, SourceFigures())
    return found
