"""The removal of expired readers and groups, once an hour (`lockgate.group.expiry`).

A process waits an hour before its first check, because it may have started after an outage, and
readers need time to return. All processes run the check. Nothing is removed twice, because the
store refuses a removal if the group has changed meanwhile.
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
NAMES_AT_ONCE = 100


async def keep_removing(coordinator: Coordinator, expiry: Expiry) -> None:
    """Remove expired readers and groups every `PAUSE_S` seconds until cancelled."""
    while True:
        await asyncio.sleep(PAUSE_S)
        try:
            await remove_expired(coordinator, expiry)
        except StoreUnavailable:
            continue  # logged where it was noticed
        except Exception:  # a fault must not end the checks of this process
            log.exception("cannot remove expired readers and groups; trying again in %s", spoken_s(PAUSE_S))


async def remove_expired(coordinator: Coordinator, expiry: Expiry) -> None:
    """Remove expired readers and groups. Raises `StoreUnavailable` if the store does not answer."""
    after = ""
    while names := await coordinator.store.names(after, NAMES_AT_ONCE):
        for name in names:
            try:
                await coordinator.expire(name, expiry)
            except (Refused, UnreadableGroup):  # deleted a moment ago, or left to an operator
                continue
        after = names[-1]
