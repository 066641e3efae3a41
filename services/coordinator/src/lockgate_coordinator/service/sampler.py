"""Samples of groups for charts: a few figures of each group, taken every ten seconds and stored.

A turn of a group makes a sample if the last one of this process is ten seconds old. The store
ignores a sample that comes too soon after one of another process. So sampling costs most reports
only one dict look-up, and a group without reports has no samples.
"""

import asyncio
import json
import logging
from itertools import groupby

from lockgate.group.turn import Turn
from lockgate.steps import ITEMS_OF_A_STEP
from lockgate.wire.codec import to_json
from lockgate.wire.fields import Json
from lockgate_coordinator.listeners import TurnListener
from lockgate_coordinator.store import Store, StoreUnavailable
from lockgate_coordinator.store.base import SAMPLE_LEVELS
from lockgate_coordinator.telemetry.figures import Figures

SOURCES_SAMPLED = 50
"""The maximum number of sources in a sample. These are the first ones by name."""

HOLDERS_SAMPLED = 3

STATES = ("lost", "passed_over", "paused", "waiting", "active", "registered", "parked", "idle", "finished")
"""The states of a source in a sample. A source has the first of these that applies to one of its
readers, or to the source itself (`paused`).
"""

STEP_MS = SAMPLE_LEVELS[0][0]
MOST_GROUPS = 10_000

log = logging.getLogger("lockgate")


class Sampler(TurnListener):
    """A listener that samples the groups of `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sampled_at: dict[str, int] = {}
        self._tasks = set[asyncio.Task[None]]()

    def turned(self, turn: Turn) -> None:
        """Take a sample in the background, unless this process has taken one within `STEP_MS`."""
        name, now_ms = turn.name, turn.now.ms
        if 0 <= now_ms - self._sampled_at.get(name, -STEP_MS) < STEP_MS:
            return
        if len(self._sampled_at) >= MOST_GROUPS:
            self._sampled_at.clear()
        self._sampled_at[name] = now_ms
        task = asyncio.get_running_loop().create_task(self._sample(turn))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Cancel the samples in progress."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _sample(self, turn: Turn) -> None:
        try:
            await self._store.append_sample(turn.name, json.dumps(await sample(turn), separators=(",", ":")))
        except StoreUnavailable as error:
            log.debug("group %s: no sample: %s", turn.name, error)


async def sample(turn: Turn) -> Json:
    """Return a sample of the group after `turn`. Other requests are served during the count."""
    group, event = turn.group, to_json(turn.event)
    sources: dict[str, Json] = {}
    for source, keys in groupby(sorted(group.readers), key=lambda key: key[0]):
        if len(sources) == SOURCES_SAMPLED:
            break
        figures = Figures()
        for number, key in enumerate(keys, 1):
            figures.take(group, group.readers[key], turn.now.ms)
            if not number % ITEMS_OF_A_STEP:
                await asyncio.sleep(0)
        sources[source] = _source(figures, paused=group.pause_of(source) is not None)
    return {
        "group_watermark": event["group_watermark"],
        "max_desired_watermark": event["max_desired_watermark"] if event["would_be"] is None else event["would_be"],
        "blocked_by": event["blocked_by"][:HOLDERS_SAMPLED],
        "sources": sources,
    }


def _source(figures: Figures, *, paused: bool) -> Json:
    found = {*figures.states, *(("paused",) if paused else ()), *(("waiting",) if figures.waiting else ())}
    rows = {"late_rows": figures.late_rows, "rows_saved": figures.rows_saved}
    return {
        "watermark": figures.lowest,
        "state": next(state for state in STATES if state in found),
        "readers": figures.states.total(),
        **{name: count for name, count in rows.items() if count is not None},
    }
