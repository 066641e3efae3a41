"""Where groups are kept: one contract (`base`), in memory or in Redis. This factory alone knows `store.redis`."""

from urllib.parse import urlsplit

from lockgate_coordinator.store.base import InvalidStoreAddress, Loaded, Store, StoreUnavailable
from lockgate_coordinator.store.memory import MemoryStore

__all__ = ["InvalidStoreAddress", "Loaded", "MemoryStore", "Store", "StoreUnavailable", "open_store"]


def open_store(address: str) -> Store:
    """`memory://` or `redis://HOST:PORT/DB`. Raises `InvalidStoreAddress`, whose text holds nothing of the address but its scheme."""
    scheme, colon, _ = address.partition("://")
    if not colon:
        raise InvalidStoreAddress("the store must be memory:// or redis://HOST:PORT/DB; this one has no scheme")
    if scheme == "memory":
        return MemoryStore()
    if scheme == "redis":
        return _redis(address)
    raise InvalidStoreAddress(f"the store must be memory:// or redis://HOST:PORT/DB, not {scheme}://")


def _redis(address: str) -> Store:
    from lockgate_coordinator.store.redis import RedisStore

    try:
        parts = urlsplit(address)
        database = parts.path.strip("/")
        if parts.hostname is None or parts.port == 0 or (database and not database.isdigit()):
            raise ValueError
        return RedisStore(address)
    except ValueError:  # its text may hold what stands in the address
        expected = "redis://[USER:PASSWORD@]HOST[:PORT][/DB], with numbers for PORT and DB"
        raise InvalidStoreAddress(f"a redis:// store must be {expected}") from None
