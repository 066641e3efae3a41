"""The figures of all groups for one Prometheus scrape.

Counting all readers and splits of a large group without a break would delay reports. So other
requests are served after every `COUNTED_AT_ONCE` readers and splits. All figures of a group still
describe the same moment, because the counted `Group` is immutable.
"""

import asyncio

from lockgate.errors import Refused
from lockgate.group.turn import Turn
from lockgate.wire.events import SplitState
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.service.inspected_splits import summaries
from lockgate_coordinator.store import StoreUnavailable, UnreadableGroup
from lockgate_coordinator.telemetry.figures import Figures, GroupFigures, Scrape
from lockgate_coordinator.telemetry.totals import OTHER

MOST_GROUPS = 1_000
"""The maximum number of groups in a scrape. These are the first ones by name."""

MOST_SOURCES_OF_A_GROUP = 100
"""The maximum number of a group's sources with their own figures. `OTHER` combines the others."""

COUNTED_AT_ONCE = 1_000
"""The number of readers and splits that are counted without a break, which takes about 2 ms."""

GROUPS_AT_ONCE = 16
"""The number of groups that are evaluated at the same time."""


async def scrape_groups(coordinator: Coordinator) -> Scrape:
    """Return the figures of the first `MOST_GROUPS` groups, or of fewer if the store fails."""
    scrape = Scrape()
    try:
        names = await coordinator.store.names("", MOST_GROUPS + 1)
        scrape.more_groups = len(names) > MOST_GROUPS
        for begin in range(0, min(len(names), MOST_GROUPS), GROUPS_AT_ONCE):
            some = names[begin : min(begin + GROUPS_AT_ONCE, MOST_GROUPS)]
            looks = await asyncio.gather(*(_look(coordinator, scrape, name) for name in some))
            for turn in looks:
                if turn is not None:
                    scrape.groups.append(await _figures(turn))
                    scrape.groups[-1].assignments = await _assignments(coordinator, turn.group.name)
            await asyncio.sleep(0)
    except StoreUnavailable:
        scrape.complete = False
    scrape.commits, scrape.commands = coordinator.queue.commits, coordinator.queue.commands
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


async def _figures(turn: Turn) -> GroupFigures:
    group, event = turn.group, turn.event
    figures = GroupFigures(
        group.name, event.revision, event.group_watermark, event.max_desired_watermark, len(group.sources_missing)
    )
    counted = 0
    for (name, _), reader in group.readers.items():
        _source(figures, name).take(group, reader, turn.now.ms)
        splits = {} if reader.reported is None else reader.reported.splits
        figures.splits.update(SplitState(report.state).value for report in splits.values())
        counted += 1 + len(splits)
        if counted >= COUNTED_AT_ONCE:
            counted = 0
            await asyncio.sleep(0)
    return figures


def _source(figures: GroupFigures, name: str) -> Figures:
    source = figures.sources.get(name)
    if source is None:
        of_its_own = len(figures.sources) < MOST_SOURCES_OF_A_GROUP
        source = figures.sources.setdefault(name if of_its_own else OTHER, Figures())
    return source
