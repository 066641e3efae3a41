"""A real Redis with a replica, and the Sentinel that puts the replica in its place when it dies, on loopback ports of their own."""

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from redis import Redis

from lockgate_testbed.errors import ChildFailed
from lockgate_testbed.process import Child, await_true, free_ports, port_open
from lockgate_testbed.redis import NO_PERSISTENCE, READY_WITHIN_S, RedisServer, redis_binary
from lockgate_testbed.server import Server

SERVICE = "lockgate-test"

DOWN_AFTER_MS = 500
"""How long the master may be silent before the Sentinel has the replica promoted."""


class SentinelledRedis:
    """Runs inside `with SentinelledRedis() as redis:`; its address is `redis.url`. To have a failover, kill `redis.master`.

    Raises `RedisMissing`.
    """

    def __init__(self) -> None:
        self.master = RedisServer(options=NO_PERSISTENCE)
        following = ("--replicaof", f"127.0.0.1 {self.master.port}", "--repl-diskless-sync-delay", "0")
        self.replica = RedisServer(options=(*NO_PERSISTENCE, *following))
        self.sentinel = _Sentinel(self.master.port)
        self._running = ExitStack()

    @property
    def url(self) -> str:
        """Its address, redis+sentinel://host:port/service."""
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/{SERVICE}"

    def __enter__(self) -> "SentinelledRedis":
        with ExitStack() as started:
            started.enter_context(self.master)
            started.enter_context(self.replica)
            started.enter_context(self.sentinel)
            if not await_true(self._complete, READY_WITHIN_S):
                raise ChildFailed(f"the Sentinel did not find the replica within {READY_WITHIN_S:g} s")
            self._running = started.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._running.close()

    def _complete(self) -> bool:
        """Whether the replica has all, and the Sentinel knows it."""
        with Redis(port=self.replica.port) as replica, Redis(port=self.sentinel.port, decode_responses=True) as sentinel:
            if replica.info("replication").get("master_link_status") != "up":
                return False
            known = sentinel.execute_command("SENTINEL", "REPLICAS", SERVICE)
            return bool(known) and "link-status" in str(known) and "s_down" not in str(known) and "disconnected" not in str(known)


class _Sentinel(Server):
    """One Sentinel, whose word alone is enough."""

    def __init__(self, master_port: int, data: Path | None = None) -> None:
        super().__init__("sentinel", data)
        (self.port,) = free_ports(1)
        self._master_port = master_port

    def _launch(self) -> Child:
        settings = self.data / "sentinel.conf"
        watched = f"{SERVICE} 127.0.0.1 {self._master_port} 1"
        lines = ["bind 127.0.0.1", f"port {self.port}", f"dir {self.data}", f"sentinel monitor {watched}"]
        lines += [f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}", f"sentinel failover-timeout {SERVICE} 3000"]
        settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        child = Child("the Sentinel", [redis_binary(), str(settings), "--sentinel"], self.log)
        return child.await_ready(lambda: port_open(self.port), READY_WITHIN_S)
