"""Coordinators that share a store, by the clock of this machine or of Redis."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from lockgate_coordinator.store import open_store
from support.in_process import Service


@pytest.fixture
async def replicas(store_address: str) -> AsyncIterator[list[Service]]:
    """One over memory, given twice, or two over one Redis."""
    async with AsyncExitStack() as stack:
        epochs = dict[str, int]()
        count = 1 if store_address == "memory://" else 2
        opened = [Service(store=open_store(store_address), epochs=epochs) for _ in range(count)]
        yield [await stack.enter_async_context(each.running()) for each in opened] * (3 - count)
