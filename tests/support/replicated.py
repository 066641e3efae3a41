"""A Redis with a replica, for histories that are lost while all connections stay open."""

from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, closing, contextmanager
from dataclasses import dataclass

from redis import Redis

from lockgate_coordinator.store import Store, open_store
from lockgate_testbed.redis import NO_PERSISTENCE, RedisServer
from support.answers import wait_for

QUICK = (*NO_PERSISTENCE, "--repl-diskless-sync-delay", "0")


@dataclass
class Replicated:
    """Two Redis servers, `here` with its replica `there`."""

    here: Redis
    there: Redis
    ports: dict[str, int]

    def url(self, at: str) -> str:
        return f"redis://127.0.0.1:{self.ports[at]}/0"

    def promote_there(self) -> None:
        """The replica has all that was written so far, and nothing of what comes now."""
        assert self.here.wait(1, 60_000) == 1
        self.there.replicaof("NO", "ONE")

    def fail_back(self) -> None:
        """`here` takes the data of `there` in the place of its own, and is the master again."""
        self.here.replicaof("127.0.0.1", str(self.ports["there"]))
        wait_for(lambda: _in_step(self.here))
        self.here.replicaof("NO", "ONE")

    def put_back_in_time(self, dumped: dict[bytes, bytes]) -> None:
        """FLUSHALL and RESTORE of what `dump` gave, at once."""
        with self.here.pipeline(transaction=True) as commands:
            commands.flushall()
            for key, value in dumped.items():
                commands.restore(key, 0, value)
            commands.execute()

    def dump(self) -> dict[bytes, bytes]:
        return {key: self.here.dump(key) for key in self.here.scan_iter()}


class Servers:
    """Two Redis servers, and the stores that a test opens."""

    def __init__(self, redis: Replicated, opened: AsyncExitStack) -> None:
        self.redis = redis
        self._opened = opened

    def store(self, at: str = "here") -> Store:
        """The store of one more coordinator."""
        store = open_store(self.redis.url(at))
        self._opened.push_async_callback(store.close)
        return store


@contextmanager
def replicated() -> Iterator[Replicated]:
    with ExitStack() as opened:
        here = opened.enter_context(RedisServer(options=QUICK))
        following = ("--replicaof", f"127.0.0.1 {here.port}")
        there = opened.enter_context(RedisServer(options=(*QUICK, *following)))
        clients = [opened.enter_context(closing(Redis(port=server.port))) for server in (here, there)]
        wait_for(lambda: _in_step(clients[1]))
        yield Replicated(*clients, {"here": here.port, "there": there.port})


def _in_step(replica: Redis) -> bool:
    return replica.info("replication").get("master_link_status") == "up"
