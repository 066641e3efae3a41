"""Long work of the coordinator, with pauses in which other requests are served."""

import asyncio
from typing import TypeVar

from lockgate.steps import Steps

T = TypeVar("T")


async def with_pauses(steps: Steps[T]) -> T:
    """The result of the steps. The event loop serves others after each of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class Turns:
    """Long work of several requests at once. Between two looks at the sockets one of them does one
    step, whoever is next. So however many there are, nobody else waits for more than a step.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def work(self, steps: Steps[T]) -> T:
        """The result of the steps. Work before the first pause has no turn: it must be short."""
        try:
            next(steps)
            while True:
                async with self._lock:
                    next(steps)
                    await asyncio.sleep(0)
        except StopIteration as end:
            result: T = end.value
            return result
