"""The stores of groups, in memory or in Redis, behind one contract (`base`).

The service depends only on the contract. `open_store` returns the store at an address. See the
docstring of `base`, and docs/operations.md.
"""

import os
from collections.abc import Mapping

from lockgate_coordinator.store.base import InvalidStoreAddress, Loaded, Store, StoreUnavailable, UnreadableGroup
from lockgate_coordinator.store.memory import MemoryStore

__all__ = ["InvalidStoreAddress", "Loaded", "MemoryStore", "Store", "StoreUnavailable", "UnreadableGroup", "open_store"]

EXPECTED = "the store must be memory:// or redis://HOST:PORT/DB (or rediss, redis+sentinel, redis+cluster)"


def open_store(address: str, environment: Mapping[str, str] = os.environ) -> Store:
    """Return the store at `address`. The module `addresses` describes the forms of a Redis address.
    The password may come from `environment`.

    Raises `InvalidStoreAddress` if the address is invalid. The text quotes no part of the address.
    """
    scheme, colon, _ = address.partition("://")
    if not colon:
        raise InvalidStoreAddress(f"{EXPECTED}; this one has no scheme")
    if scheme == "memory":
        return MemoryStore()
    from lockgate_coordinator.store import addresses
    from lockgate_coordinator.store.redis import RedisStore

    if scheme not in addresses.SCHEMES:
        raise InvalidStoreAddress(f"{EXPECTED}; this one has another scheme")
    return RedisStore(addresses.parse(address, environment))
