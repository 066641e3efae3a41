"""Where groups are kept: one contract (`base`), in memory or in Redis. This factory alone knows
`store.redis`.
"""

import os
from collections.abc import Mapping

from lockgate_coordinator.store.base import InvalidStoreAddress, Loaded, Store, StoreUnavailable
from lockgate_coordinator.store.memory import MemoryStore

__all__ = ["InvalidStoreAddress", "Loaded", "MemoryStore", "Store", "StoreUnavailable", "open_store"]

EXPECTED = "the store must be memory:// or redis://HOST:PORT/DB (or rediss, redis+sentinel, redis+cluster)"


def open_store(address: str, environment: Mapping[str, str] = os.environ) -> Store:
    """A store by its address; the forms of a Redis's are in `addresses`, which may take a password
    out of `environment`.

    Raises `InvalidStoreAddress`, whose text names what is wrong with the address and holds nothing
    of it but a scheme.
    """
    scheme, colon, _ = address.partition("://")
    if not colon:
        raise InvalidStoreAddress(f"{EXPECTED}; this one has no scheme")
    if scheme == "memory":
        return MemoryStore()
    from lockgate_coordinator.store import addresses
    from lockgate_coordinator.store.redis import RedisStore

    if scheme not in addresses.SCHEMES:
        raise InvalidStoreAddress(f"{EXPECTED}, with one of these schemes")
    return RedisStore(addresses.parse(address, environment))
