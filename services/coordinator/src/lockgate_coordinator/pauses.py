"""Functions that run long work in steps, and serve other requests between the steps."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from lockgate.steps import Steps

T = TypeVar("T")

LOOPS_BETWEEN_STEPS = 5
"""The number of event-loop iterations between two steps. Serving another request takes several."""


async def with_pauses(steps: Steps[T]) -> T:
    """Run `steps` and return their result. Other requests are served after each step."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class InTurn:
    """A queue that runs the long work of several requests, one step at a time. Other requests wait
    for a few steps at most, however long the queue is.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def work(self, steps: Steps[T]) -> T:
        """Run `steps` and return their result. All but the first take turns with other work."""
        try:
            next(steps)
            # Taking a free lock lets no other request run, and the first step has just run.
            await asyncio.sleep(0)
            while True:
                async with self._lock:
                    next(steps)
                    for _ in range(LOOPS_BETWEEN_STEPS):
                        await asyncio.sleep(0)
        except StopIteration as end:
            result: T = end.value
            return result

    async def on_thread(self, act: Callable[..., T], *arguments: Any) -> T:
        """Call `act` on a thread and return its result. Only one such call runs at a time."""
        async with self._lock:
            return await asyncio.to_thread(act, *arguments)
