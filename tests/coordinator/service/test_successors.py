"""A deleted group's successor, on a clock that stands still."""

import pytest

from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store import MemoryStore


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator(MemoryStore(lambda: 1_000))


async def test_the_revision_and_configuration_version_of_a_successor_are_above_all_of_its_predecessors(
    coordinator: Coordinator,
) -> None:
    versions, revisions = [], []
    for _ in range(3):
        versions.append((await coordinator.configure("g", GroupConfig())).version)
        revisions.append((await coordinator.refresh("g")).event.revision)
        await coordinator.delete("g")
    assert versions == sorted(set(versions))
    assert revisions == sorted(set(revisions))


async def test_the_epochs_of_a_successor_are_above_all_of_its_predecessors_when_a_registration_creates_it(
    coordinator: Coordinator,
) -> None:
    epochs = []
    for _ in range(3):
        epochs += [(await coordinator.register("g", "a", ReaderRegistrationEvent(subtask=0))).epoch for _ in range(5)]
        await coordinator.delete("g")
    assert epochs == sorted(set(epochs))
