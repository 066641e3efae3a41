"""Look through all groups now and then, and remove what has expired (`lockgate.group.expiry`).

The first look comes after one pause: a process that has just begun may be the first one after an
outage, and the readers need time to come back. Each process looks on its own. Nothing is removed
twice, since each removal is a commit.
"""

import asyncio
import logging

from lockgate.duration import spoken_s
from lockgate.errors import Refused
from lockgate.group.expiry import Expiry
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import StoreUnavailable, UnreadableGroup

log = logging.getLogger("lockgate")

PAUSE_S = 3_600.0
"""How long to wait between two looks at most; else a tenth of the shortest time."""

NAMES_AT_ONCE = 100


def pause_s(expiry: Expiry) -> float | None:
    """Return the pause between two looks; None: nothing expires."""
    times = [ms for ms in (expiry.readers_ms, expiry.groups_ms) if ms is not None]
    return min(PAUSE_S, max(1.0, min(times) / 10_000)) if times else None


async def keep_removing(coordinator: Coordinator, expiry: Expiry) -> None:
    """Remove what has expired now and then, until it is cancelled."""
    pause = pause_s(expiry)
    while pause is not None:
        await asyncio.sleep(pause)
        try:
            await remove_expired(coordinator, expiry)
        except StoreUnavailable:
            continue  # logged where it was noticed
        except Exception:  # a fault must not end the looks of this process
            log.exception("cannot remove expired readers and groups; trying again in %s", spoken_s(pause))


async def remove_expired(coordinator: Coordinator, expiry: Expiry) -> None:
    """Look at each group once. Raises `StoreUnavailable`."""
    after = ""
    while names := await coordinator.store.names(after, NAMES_AT_ONCE):
        for name in names:
            try:
                await coordinator.expire(name, expiry)
            except (Refused, UnreadableGroup):  # deleted a moment ago; or for an operator
                continue
        after = names[-1]
