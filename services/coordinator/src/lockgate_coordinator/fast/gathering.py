"""Gathering: a commit waits for a moment, so that commands that are about to arrive share it.

Over a shared store a commit is a round trip. Readers that were just answered report again sooner
than another commit would be over, so the commit waits for them for up to `FOLLOW_UP_S`. Without
gathering a commit takes the commands that are there when it begins; the results are the same.
"""

import asyncio
from collections.abc import Mapping, Sized

LOOKS = 16
"""How often the event loop may look at its connections before a commit, while each look brings more
commands.
"""

FOLLOW_UP_S = 0.002
"""How long to wait for a follow-up from the same clients: some round trips to a Redis nearby, and
little to a reader.
"""


class _Expected:
    """Waits until `commands` are there, for `FOLLOW_UP_S` at most."""

    __slots__ = ("_arrived", "commands")

    def __init__(self, commands: int) -> None:
        self.commands = commands
        self._arrived: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake(self) -> None:
        if not self._arrived.done():
            self._arrived.set_result(None)

    async def arrival(self) -> None:
        timer = asyncio.get_running_loop().call_later(FOLLOW_UP_S, self.wake)
        try:
            await self._arrived
        finally:
            timer.cancel()


class Gathering:
    """`waiting` holds the commands of each group that wait for its next commit. `shared`: the store
    is, so that a commit is a round trip.
    """

    def __init__(self, waiting: Mapping[str, Sized], *, shared: bool) -> None:
        self._waiting = waiting
        self._shared = shared
        self._expected: dict[str, _Expected] = {}

    def arrived(self, name: str, waiting: int) -> None:
        """A command has joined the `waiting` ones of the group."""
        expected = self._expected.get(name)
        if expected is not None and waiting >= expected.commands:
            expected.wake()

    async def gather(self, name: str, answered: int) -> None:
        """Returns when the next commit of the group should begin; `answered` were in its last."""
        if answered and self._shared:
            self._expected[name] = expected = _Expected(answered + self._count(name))
            await expected.arrival()
            del self._expected[name]
        for _ in range(LOOKS):
            before = self._count(name)
            await asyncio.sleep(0)
            if self._count(name) == before:
                break

    def _count(self, name: str) -> int:
        return len(self._waiting.get(name, ()))
