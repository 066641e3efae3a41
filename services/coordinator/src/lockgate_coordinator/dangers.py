"""Warnings in the log about dangers to the service, at the start and after each change: settings of
the store by which it may lose groups, and too few file descriptors.

An operator may change a setting of Redis at any time, and after a failover another server answers,
with settings of its own.
"""

import asyncio
import errno
import logging
import os
import sys
from collections.abc import Awaitable, Callable

log = logging.getLogger("lockgate")

LOOKS_EVERY_S = 5.0

DESCRIPTORS_LEFT = 0.1
"""The log warns if less than this part of all file descriptors is left."""

Look = Callable[[], Awaitable[list[str] | None]]
"""A function that returns the dangers of one kind, a sentence each, or None if they cannot be found
out now.
"""


class Dangers:
    """The dangers of several kinds that have been logged so far."""

    def __init__(self, *looks: Look) -> None:
        self._said = {look: list[str]() for look in looks}

    async def look(self) -> None:
        """Look once for dangers of each kind, and log those that are new or resolved."""
        for look, said in self._said.items():
            found = await look()
            if found is None:
                continue
            for danger in found:
                if danger not in said:
                    log.warning("%s", danger)
            for danger in said:
                if danger not in found:
                    log.warning("resolved: %s", danger)
            self._said[look] = found

    async def keep_looking(self) -> None:
        """Look for dangers again and again, until cancelled."""
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            await self.look()


async def few_descriptors() -> list[str]:
    """Return a sentence if few file descriptors are left. Only Linux shows how many are in use."""
    if sys.platform == "win32":
        return []
    import resource

    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        left = most - len(os.listdir("/proc/self/fd"))
    except OSError as error:
        left = 0 if error.errno in (errno.EMFILE, errno.ENFILE) else most
    if left >= DESCRIPTORS_LEFT * most:
        return []
    return [
        f"nearly all of {most} file descriptors are in use: new connections wait or fail. Raise the limit "
        "(ulimit -n), or start more coordinators"
    ]
