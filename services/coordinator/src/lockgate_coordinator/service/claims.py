"""Claims: a busy process asks the others to leave a group to it for a moment.

Two processes that commit to one group at once refuse each other's commits, and a refused commit has
to be computed again. A claim avoids that work. It is advice only: without claims the same commands
succeed, after more attempts.
"""

import asyncio

from lockgate_coordinator.store.base import CLAIMED_MS, Store

CONTENDED_S = 1.0
"""How long a group counts as contended after a refused commit or a refused claim. Busy commits
claim a contended group first.
"""

CLAIM_FROM = 4
"""How many commands are worth a claim: it may have to wait for others, and a refused commit of
fewer costs less than that.
"""

CLAIM_WITHIN_S = 0.5
"""How long a claim is tried before a commit goes on without it."""


class Claims:
    """The groups that other processes work in as well, and those that this process has claimed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._contended: dict[str, asyncio.TimerHandle] = {}  # until the timer removes the group
        self._claimed_until: dict[str, float] = {}  # by the loop's clock

    def worthwhile(self, name: str, commands: int) -> bool:
        """Return whether a commit of so many commands should claim the group first."""
        return name in self._contended and commands >= CLAIM_FROM

    async def claim(self, name: str, commit_s: float) -> None:
        """Return once the group is claimed, or after `CLAIM_WITHIN_S`.

        `commit_s` is how long the commit will take. A claim that would end before the commit does
        is renewed: the process that claims the group next would win against this commit.
        """
        loop = asyncio.get_running_loop()
        if loop.time() + commit_s < self._claimed_until.get(name, 0.0):
            return
        asked = began = loop.time()
        while asked - began < CLAIM_WITHIN_S:
            wait_ms = await self._store.claim(name)
            if not wait_ms:
                if name in self._contended:
                    self._claimed_until[name] = asked + CLAIMED_MS / 1_000
                return
            self.refused(name)
            await asyncio.sleep(wait_ms / 1_000)
            asked = loop.time()

    def refused(self, name: str) -> None:
        """Another process was faster with a commit or a claim."""
        if name in self._contended:
            self._contended[name].cancel()
        self._contended[name] = asyncio.get_running_loop().call_later(CONTENDED_S, self._forget, name)

    def _forget(self, name: str) -> None:
        del self._contended[name]
        self._claimed_until.pop(name, None)
