"""Long work in steps, with pauses in which other requests are served."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from lockgate.steps import Steps

T = TypeVar("T")

LOOPS_BETWEEN_STEPS = 5
"""The runs of the event loop between two steps. Another request needs several of them from its
first byte to its answer, and should not wait for a step at each.
"""


async def with_pauses(steps: Steps[T]) -> T:
    """Run the steps and return their result. Other requests are served after each step."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class InTurn:
    """Long work of several requests, one step at a time. Other requests are served between the
    steps, so they wait for a few steps at most, however many requests have long work.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def work(self, steps: Steps[T]) -> T:
        """Run the steps and return their result. The first step runs at once."""
        try:
            next(steps)
            # A lock that nobody holds lets no other request run, and the caller has worked already.
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
        """Run `act` on a thread and return its result. Only one call runs at a time."""
        async with self._lock:
            return await asyncio.to_thread(act, *arguments)
