import pytest

from lockgate_coordinator.store import InvalidStoreAddress, MemoryStore, StoreUnavailable, open_store


def test_memory_needs_nothing_but_its_scheme() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)


@pytest.mark.parametrize(
    "address", ["etcd://u:hunter2@h", "hunter2", "redis://u:hunter2@h:port/0", "redis://u:hunter2@h/x", "redis://", "redis://h:0"]
)
def test_an_address_that_names_no_store_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(InvalidStoreAddress) as refused:
        open_store(address)
    assert "hunter2" not in str(refused.value)
    assert "redis://" in str(refused.value)


async def test_a_redis_that_is_not_there_is_named_without_its_password() -> None:
    store = open_store("redis://u:hunter2@127.0.0.1:1/0")
    with pytest.raises(StoreUnavailable, match=r"Redis at 127\.0\.0\.1:1") as refused:
        await store.ping()
    assert "hunter2" not in str(refused.value)
    await store.close()
