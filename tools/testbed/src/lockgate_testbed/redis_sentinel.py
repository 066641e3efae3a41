"""A real Redis with a replica, and the Sentinel that puts the replica in its place when it dies, on
loopback ports of their own.
"""

from contextlib import ExitStack
from types import TracebackType

from redis import Redis

from lockgate_testbed.errors import ChildFailed
from lockgate_testbed.process import Child, await_true, free_ports, port_open
from lockgate_testbed.redis import NO_PERSISTENCE, READY_WITHIN_S, Certificates, RedisServer, address, redis_binary
from lockgate_testbed.server import Server

SERVICE = "lockgate-test"

DOWN_AFTER_MS = 500
"""How long the master may be silent before the Sentinel has the replica promoted."""


class SentinelledRedis:
    """Runs inside `with SentinelledRedis() as redis:`; its address is `redis.url`. To have a
    failover, kill `redis.master`.

    With `tls` all three speak over TLS alone, to their clients and to each other. Raises
    `RedisMissing`.
    """

    def __init__(self, tls: Certificates | None = None) -> None:
        between = () if tls is None else ("--tls-replication", "yes")
        self.master = RedisServer(options=(*NO_PERSISTENCE, *between), tls=tls)
        following = ("--replicaof", f"127.0.0.1 {self.master.port}", "--repl-diskless-sync-delay", "0")
        self.replica = RedisServer(options=(*NO_PERSISTENCE, *between, *following), tls=tls)
        self.sentinel = _Sentinel(self.master.port, tls)
        self._running = ExitStack()

    @property
    def url(self) -> str:
        """Its address, redis+sentinel://host:port/service, or rediss+sentinel://… with its
        authority.
        """
        return address([self.sentinel.port], self.sentinel.tls, form="+sentinel", path=f"/{SERVICE}")

    def failed_over(self) -> bool:
        """Whether the replica is the master now, as the Sentinel says."""
        with Redis.from_url(self.sentinel.url, decode_responses=True) as sentinel:
            master = sentinel.sentinel_master(SERVICE)
        return bool(master["port"] == self.replica.port and master["flags"] == "master")

    def __enter__(self) -> "SentinelledRedis":
        with ExitStack() as started:
            started.enter_context(self.master)
            started.enter_context(self.replica)
            started.enter_context(self.sentinel)
            if not await_true(self._complete, READY_WITHIN_S):
                raise ChildFailed(f"the Sentinel did not find the replica within {READY_WITHIN_S:g} s")
            self._running = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def _complete(self) -> bool:
        """Whether the replica has all, and the Sentinel knows it."""
        with (
            Redis.from_url(self.replica.url) as replica,
            Redis.from_url(self.sentinel.url, decode_responses=True) as sentinel,
        ):
            if replica.info("replication").get("master_link_status") != "up":
                return False
            known = sentinel.execute_command("SENTINEL", "REPLICAS", SERVICE)
            return (
                bool(known)
                and "link-status" in str(known)
                and "s_down" not in str(known)
                and "disconnected" not in str(known)
            )


class _Sentinel(Server):
    """One Sentinel, whose word alone is enough."""

    def __init__(self, master_port: int, tls: Certificates | None) -> None:
        super().__init__("sentinel", None)
        (self.port,) = free_ports(1)
        self.tls = tls
        self._master_port = master_port

    @property
    def url(self) -> str:
        """Its own address, to ask it."""
        return address([self.port], self.tls)

    def _launch(self) -> Child:
        settings = self.data / "sentinel.conf"
        watched = f"{SERVICE} 127.0.0.1 {self._master_port} 1"
        lines = ["bind 127.0.0.1", f"dir {self.data}", f"sentinel monitor {watched}"]
        listening = (
            [("port", str(self.port))]
            if self.tls is None
            else [*self.tls.settings(self.port), ("tls-replication", "yes")]
        )
        lines += [f"{name} {value}" for name, value in listening]
        lines += [
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 3000",
        ]
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        child = Child("the Sentinel", [redis_binary(), str(settings), "--sentinel"], self.log)
        return child.await_ready(lambda: port_open(self.port), READY_WITHIN_S)
