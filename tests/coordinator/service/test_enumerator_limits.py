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


async def test_a_group_has_enumerators_for_as_many_sources_as_it_may_have_and_for_no_more() -> None:
    coordinator = Coordinator(MemoryStore(), limits=Limits(sources=2))
    await coordinator.configure("g", GroupConfig())
    for source in ("a", "b", "a"):
        await coordinator.put_list("g", source, SPLITS)
    with pytest.raises(LimitReached, match="group 'g' may have at most 2 sources with splits"):
        await coordinator.put_list("g", "c", SPLITS)
    assert set((await coordinator.enumerators.loaded("g")).sources) == {"a", "b"}
    await coordinator.close()
