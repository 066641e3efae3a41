"""Listeners of turns: all that follows from a turn besides its answers.

The journal and its figures, long polls and event streams, and samples for charts are listeners.
`Coordinator` has the list of all.
"""

from collections.abc import Sequence

from lockgate.enumerator.model import Enumerator
from lockgate.group.turn import Turn
from lockgate.steps import Steps
from lockgate_coordinator.pauses import with_pauses


class TurnListener:
    """What a listener may hear, on the event loop. Work that may take long is returned as steps."""

    def turned(self, turn: Turn) -> Steps[None] | None:
        """Hear of each turn of a group once it is stored, before its commands are answered."""
        return None

    def splits_changed(
        self, group: str, source: str, before: Enumerator | None, after: Enumerator
    ) -> Steps[None] | None:
        """Hear that this process has changed a source's enumerator."""
        return None

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Hear that this process has deleted a group with so many readers: by request, or because
        it had expired.
        """

    async def close(self) -> None:
        """Finish, since the service ends."""


class Listeners:
    """Passes on what happens to `all`, in their order."""

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
