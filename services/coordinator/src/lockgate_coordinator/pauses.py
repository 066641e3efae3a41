"""Long work of the coordinator, with pauses in which other requests are served."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from lockgate.steps import Steps

T = TypeVar("T")

LOOPS_BETWEEN_STEPS = 5
"""The runs of the event loop between two steps of heavy bodies. A report of another request needs
several of them from its first byte to its answer, and should not wait for a step at each of them.
"""


async def with_pauses(steps: Steps[T]) -> T:
    """Return the result of the steps. The event loop serves others after each of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        await asyncio.sleep(0)


class InTurn:
    """Long work of several requests at once. After each step of one of them, other requests are
    served. So however many there are, another request waits for a few steps at most.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def work(self, steps: Steps[T]) -> T:
        """Return the result of the steps. The first step does not wait for its turn, so it must be
        short.
        """
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
        """Return the result of work without pauses. It runs on a thread, while no other such work
        runs.
        """
        async with self._lock:
            return await asyncio.to_thread(act, *arguments)
