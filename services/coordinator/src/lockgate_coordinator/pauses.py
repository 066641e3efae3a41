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
