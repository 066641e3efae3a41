"""A deleted group's successor, on a clock that stands still."""

import pytest

from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator(MemoryStore(lambda: 1_000))


async def test_successors_revision_and_version_are_above_predecessors(
    coordinator: Coordinator,
) -> None:
    versions, revisions = [], []
    for _ in range(3):
        versions.append((await coordinator.configure("g", GroupConfig())).version)
        revisions.append((await coordinator.refresh("g")).event.revision)
        await coordinator.delete("g")
    assert versions == sorted(set(versions))
    assert revisions == sorted(set(revisions))


async def test_epochs_of_registered_successor_are_above_predecessors(
    coordinator: Coordinator,
) -> None:
    epochs = []
    for _ in range(3):
        epochs += [(await coordinator.register("g", "a", ReaderRegistrationEvent(subtask=0))).epoch for _ in range(5)]
        await coordinator.delete("g")
    assert epochs == sorted(set(epochs))
