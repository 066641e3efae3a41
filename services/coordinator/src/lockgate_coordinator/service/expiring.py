"""The removal of expired readers and groups from time to time (`lockgate.group.expiry`).

The first look comes after one pause, because a process that has just begun may be the first one
after an outage, and the readers need time to come back. Each process looks on its own. Nothing is
removed twice, because each removal is a commit.
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
"""The longest pause between two looks. The pause is a tenth of the shortest expiry if that is
less.
"""

NAMES_AT_ONCE = 100


def pause_s(expiry: Expiry) -> float | None:
    """Return the pause between two looks, or None if nothing expires."""
    times = [ms for ms in (expiry.readers_ms, expiry.groups_ms) if ms is not None]
    return min(PAUSE_S, max(1.0, min(times) / 10_000)) if times else None


async def keep_removing(coordinator: Coordinator, expiry: Expiry) -> None:
    """Remove expired readers and groups from time to time, until cancelled."""
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
    """Look at each group once, and remove what has expired. Raises `StoreUnavailable`."""
    after = ""
    while names := await coordinator.store.names(after, NAMES_AT_ONCE):
        for name in names:
            try:
                await coordinator.expire(name, expiry)
            except (Refused, UnreadableGroup):  # deleted a moment ago; or for an operator
                continue
        after = names[-1]
