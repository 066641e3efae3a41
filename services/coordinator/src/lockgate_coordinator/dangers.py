"""Repeated checks that warn if the store may lose groups, or if few file descriptors are left.

The checks are repeated because an operator may change a setting of Redis at any time. After a
failover, another server answers, which has its own settings.
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
"""`few_descriptors` warns if less than this fraction of all file descriptors is free."""

Look = Callable[[], Awaitable[list[str] | None]]
"""A check that returns one sentence for each danger that it finds, or None if it has failed."""


class Dangers:
    """Repeated checks (`looks`). Each danger is logged when found, and when resolved."""

    def __init__(self, *looks: Look) -> None:
        self._said = {look: list[str]() for look in looks}

    async def look(self) -> None:
        """Run each check, and log new and resolved dangers. A failed check changes nothing."""
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
        """Repeat the checks every `LOOKS_EVERY_S` seconds until cancelled."""
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            await self.look()


async def few_descriptors() -> list[str]:
    """Return a list with a warning if few file descriptors are left, otherwise an empty list. It is
    always empty on systems without `/proc/self/fd`, such as macOS and Windows.
    """
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
