"""Listeners of turns, which do everything that follows from a turn besides its answers.

The journal and its figures, long polls and event streams, and samples for charts are listeners.
`Coordinator` has the list of all.
"""

from collections.abc import Sequence

from lockgate.enumerator.model import Enumerator
from lockgate.group.turn import Turn
from lockgate.steps import Steps
from lockgate_coordinator.pauses import with_pauses


class TurnListener:
    """The base class of listeners. Its methods are called on the event loop. Work that may take
    long is returned as steps.
    """

    def turned(self, turn: Turn) -> Steps[None] | None:
        """Handle each turn of a group after it is stored, before its commands are answered."""
        return None

    def splits_changed(
        self, group: str, source: str, before: Enumerator | None, after: Enumerator
    ) -> Steps[None] | None:
        """Handle a change of a source's enumerator by this process."""
        return None

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Handle the deletion of a group with `readers` readers by this process, either by request
        or because it had `expired`.
        """

    async def close(self) -> None:
        """Finish the remaining work before the service ends."""


class Listeners:
    """The listeners `all`, which are called in their order."""

    def __init__(self) -> None:
        self.all: Sequence[TurnListener] = ()

    async def turned(self, turn: Turn) -> None:
        for listener in self.all:
            if (steps := listener.turned(turn)) is not None:
                await with_pauses(steps)

    async def splits_changed(self, group: str, source: str, before: Enumerator | None, after: Enumerator) -> None:
        for listener in self.all:
            if (steps := listener.splits_changed(group, source, before, after)) is not None:
                await with_pauses(steps)

    def deleted(self, group: str, readers: int, *, expired: bool = False) -> None:
        for listener in self.all:
            listener.deleted(group, readers, expired=expired)

    async def close(self) -> None:
        for listener in self.all:
            await listener.close()
