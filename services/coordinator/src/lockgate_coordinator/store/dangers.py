"""Log the store's own settings that may lose groups, at the start and after each change.

An operator may change a setting of Redis at any time, and after a failover another server answers,
with settings of its own.
"""

import asyncio
import logging

from lockgate_coordinator.store.base import Store

log = logging.getLogger("lockgate")

LOOKS_EVERY_S = 15.0


class Dangers:
    """The dangers of one store, as the log has them so far."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._said: list[str] = []

    async def look(self) -> None:
        """Ask the store once. While it does not answer, nothing is said."""
        found = await self._store.dangers()
        if found is None:
            return
        for danger in found:
            if danger not in self._said:
                log.warning("%s", danger)
        for danger in self._said:
            if danger not in found:
                log.warning("resolved: %s", danger)
        self._said = found

    async def keep_looking(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            await self.look()
