"""Commands on the group `g`, committed by one store as a coordinator does."""

from collections.abc import Callable

from lockgate.group.group import Group, create
from lockgate.wire.events import (
    CatchUp,
    GroupConfig,
    OnLostReader,
    ReaderRegistrationEvent,
    ReportedWatermarkEvent,
    SplitReport,
)
from lockgate_coordinator.store import Store
from support.turns import register, report

CONFIG = GroupConfig(
    max_drift_ms=1_000,
    lease_ms=600_000,
    update_interval_ms=100,
    catch_up=CatchUp.STRICT,
    on_lost_reader=OnLostReader.HOLD,
)
"""A group whose readers are not lost in a test."""

Command = Callable[[Group | None, int], Group]
"""From the group (None: there is none) and the store's time to the group."""


async def change(store: Store, command: Command) -> Group:
    """The command by this store's process, again until it is committed."""
    loaded = store.cached("g") or await store.load("g")
    while True:
        group = command(loaded.group, loaded.now_ms)
        instead = await store.commit(loaded, group)
        if instead is None:
            return group
        loaded = instead


def reports(source: str, watermark: int, park_ms: int | None = None) -> Command:
    """A reader registers, if it has not, and reports."""

    def command(group: Group | None, now_ms: int) -> Group:
        group = group or create("g", CONFIG, now_ms)
        if (source, 0) not in group.readers:
            group = register(group, source, ReaderRegistrationEvent(subtask=0), now_ms)
        event = ReportedWatermarkEvent(
            subtask=0,
            epoch=group.readers[source, 0].epoch,
            watermark=watermark,
            park_ms=park_ms,
            splits={"p-0": SplitReport(watermark=watermark)},
        )
        return report(group, source, event, now_ms)

    return command


async def seen_by(store: Store) -> dict[str, int]:
    """The watermark of each source's reader."""
    group = (await store.load("g")).group
    assert group is not None
    return {source: reader.reported.watermark for (source, _), reader in group.readers.items() if reader.reported}
