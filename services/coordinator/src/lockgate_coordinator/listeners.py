"""Listeners, which the coordinator calls after each turn of a group.

A turn applies commands to the group, and its result is stored before the calls. Listeners write the
journal, count metrics, wake long polls and event streams, and take samples for charts.
"""

from collections.abc import Sequence

from lockgate.enumerator.model import Enumerator
from lockgate.group.turn import Turn
from lockgate.steps import Steps
from lockgate_coordinator.pauses import with_pauses


class TurnListener:
    """The base class of listeners. Its methods run on the event loop. Long work is returned as
    steps, which the caller runs.
    """

    def stored(self, turn: Turn, versions: tuple[int, int], *, lost: bool) -> None:
        """Handle a turn that has changed the stored group. This is called before `turned`.

        `versions` are those of the stored group before and after the turn. `lost` is true if the
        store had lost commits before the turn.
        """

    def turned(self, turn: Turn) -> Steps[None] | None:
        """Handle a stored turn, even one without changes, before its commands are answered."""
        return None

    def splits_changed(
        self, group: str, source: str, before: Enumerator | None, after: Enumerator
    ) -> Steps[None] | None:
        """Handle this process's change of a source's enumerator. `before` is None for a new one."""
        return None

    def deleted(self, group: str, readers: int, *, expired: bool) -> None:
        """Handle the deletion of a group with `readers` readers by this process. `expired` is true
        if the group was deleted because it had expired.
        """

    async def close(self) -> None:
        """Finish the remaining work before the service ends."""


class Listeners:
    """The listeners in `all`. Each method calls the same method of every listener in order, and
    runs the steps that the method returns.
    """

    def __init__(self) -> None:
        self.all: Sequence[TurnListener] = ()

    def stored(self, turn: Turn, versions: tuple[int, int], *, lost: bool) -> None:
        for listener in self.all:
            listener.stored(turn, versions, lost=lost)

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
