"""The contract of all stores for split enumerators: memory, Redis and a Redis
Cluster.
"""

from dataclasses import MISSING, fields, replace

import pytest

from lockgate.enumerator.exchange import create
from lockgate.enumerator.model import (
    Enumerator,
    FreeSplit,
    MailedEvent,
    OwnedSplit,
    ReceivedEvent,
    SplitOwner,
)
from lockgate.errors import UnknownGroup
from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.group.group import Group
from lockgate.group.group import create as create_group
from lockgate.wire.events import GroupConfig
from lockgate_coordinator.store import Store, open_store

TOPIC = "orders.a-b_c"


async def group(store: Store, name: str = "g") -> Group:
    loaded = await store.load(name)
    made = create_group(name, GroupConfig(), loaded.now_ms, floor=loaded.version)
    assert await store.commit(loaded, made) is None
    return made


def split(partition: int, offset: int = 0) -> KafkaPartitionSplit:
    return KafkaPartitionSplit(TOPIC, partition, offset)


def full() -> Enumerator:
    """Return an enumerator with a value in every field."""
    held = OwnedSplit(split=KafkaPartitionSplit(TOPIC, 1, 2**62, 2**63 - 1), number=2**61, since=5)
    reader = SplitOwner(
        heard_at=1,
        lease_ms=2,
        capacity=3,
        discovery_interval_ms=4,
        is_processing_backlog=True,
        requests=True,
        excused=True,
        events_from=6,
        revoked=frozenset({f"{TOPIC}-1"}),
        arriving={f"{TOPIC}-1": -(2**62)},
        held={f"{TOPIC}-1": held},
    )
    return Enumerator(
        began_at=1,
        known_to=2,
        survivors_until=3,
        revision=2**62,
        assigning_at=3,
        last_number=2**61,
        heard_at=4,
        lost_history=True,
        static=True,
        bounded=True,
        listed=True,
        discovered_at=5,
        discoverer=6,
        missing=frozenset({f"{TOPIC}-2"}),
        to_readers=(MailedEvent(number=7, text='{"ü":1}', subtask=8, id="i"),),
        from_readers=(ReceivedEvent(id="e", subtask=9, at=10, text="{}"),),
        readers={(0, 2**60): reader, (1, 2): SplitOwner(heard_at=1, lease_ms=2)},
        free={f"{TOPIC}-2": FreeSplit(split=split(2, EARLIEST_OFFSET), number=11, last=0, watermark=2**62)},
        finished={f"{TOPIC}-3": FreeSplit(split=split(3), number=12)},
    )


def test_the_full_enumerator_has_no_default_in_any_field() -> None:
    enumerator = full()
    for value in (enumerator, enumerator.readers[0, 2**60], enumerator.free[f"{TOPIC}-2"], enumerator.to_readers[0]):
        defaults = {each.name: each.default for each in fields(value) if each.default is not MISSING}
        assert [name for name, default in defaults.items() if getattr(value, name) == default] == []


async def test_enumerators_come_back_as_they_were_stored(store: Store, store_address: str) -> None:
    await group(store)
    kept = {"a:b": full(), "c": create(GroupConfig(), 5)}
    assert await store.commit_splits(await store.load_splits("g"), kept)
    assert (await store.load_splits("g")).sources == kept
    if store.shared:
        other = open_store(store_address)
        assert (await other.load_splits("g")).sources == kept
        await other.close()


async def test_the_second_of_two_commits_upon_one_version_changes_nothing(store: Store) -> None:
    await group(store)
    first, second = await store.load_splits("g"), await store.load_splits("g")
    assert await store.commit_splits(first, {"s": create(GroupConfig(), 1)})
    assert not await store.commit_splits(second, {"s": create(GroupConfig(), 2)})
    assert (await store.load_splits("g")).sources["s"].began_at == 1


async def test_readers_and_sources_that_are_gone_are_gone(store: Store) -> None:
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"a": full(), "b": full()})
    loaded = await store.load_splits("g")
    without = {"a": create(GroupConfig(), 7)}
    assert await store.commit_splits(loaded, without)
    assert (await store.load_splits("g")).sources == without


async def test_what_another_process_has_changed_is_seen(store: Store, store_address: str) -> None:
    if not store.shared:
        pytest.skip("memory is one process's own")
    other = open_store(store_address)
    await group(store)
    for number in range(4):
        mine, theirs = (store, other) if number % 2 else (other, store)
        loaded = await mine.load_splits("g")
        changed = {**loaded.sources, f"s{number}": create(GroupConfig(), number)}
        assert await mine.commit_splits(loaded, changed)
        assert (await theirs.load_splits("g")).sources == changed
    await other.close()


async def test_enumerators_go_with_their_group_and_are_not_written_without_one(store: Store) -> None:
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    loaded = await store.load_splits("g")
    await store.discard("g")
    with pytest.raises(UnknownGroup):
        await store.commit_splits(loaded, {"s": full()})
    assert (await store.load_splits("g")).sources == {}
    await group(store)
    assert (await store.load_splits("g")).sources == {}


async def test_enumerators_go_with_a_group_that_expires(store: Store) -> None:
    await group(store)
    assert await store.commit_splits(await store.load_splits("g"), {"s": full()})
    assert isinstance(await store.discard("g"), int)
    await group(store)
    assert (await store.load_splits("g")).sources == {}


async def test_thousands_of_splits_come_back_in_parts(store: Store) -> None:
    await group(store)
    free = {each.split_id: FreeSplit(split=each) for each in (split(number) for number in range(20_000))}
    readers = {
        (number, 1): SplitOwner(
            heard_at=1,
            lease_ms=2,
            held={
                each.split_id: OwnedSplit(split=each, number=1, since=1)
                for each in (KafkaPartitionSplit(f"t{number}", part) for part in range(300))
            },
        )
        for number in range(100)
    }
    many = replace(create(GroupConfig(), 1), free=free, readers=readers)
    assert await store.commit_splits(await store.load_splits("g"), {"s": many})
    assert (await store.load_splits("g")).sources["s"].count() == 50_000
