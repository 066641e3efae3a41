"""How many sources of a group may have split enumerators."""

import pytest

from lockgate.errors import LimitReached
from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.events import GroupConfig
from lockgate.wire.split_events import SplitList
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.service.coordinator import Coordinator
from lockgate_coordinator.store.memory import MemoryStore

SPLITS = SplitList(splits=(KafkaPartitionSplit("orders", 0),))


async def test_group_has_no_more_enumerators_than_sources_allowed() -> None:
    coordinator = Coordinator(MemoryStore(), limits=Limits(sources=2))
    await coordinator.configure("g", GroupConfig())
    for source in ("a", "b", "a"):
        await coordinator.put_list("g", source, SPLITS)
    with pytest.raises(LimitReached, match="group 'g' may have at most 2 sources with splits"):
        await coordinator.put_list("g", "c", SPLITS)
    assert set((await coordinator.enumerators.loaded("g")).sources) == {"a", "b"}
    await coordinator.close()
