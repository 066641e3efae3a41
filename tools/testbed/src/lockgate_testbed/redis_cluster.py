"""A real Redis Cluster of three masters, on loopback ports of its own."""

from contextlib import ExitStack
from types import TracebackType

from redis import Redis

from lockgate_testbed.errors import ChildFailed
from lockgate_testbed.process import await_true, free_ports
from lockgate_testbed.redis import NO_PERSISTENCE, READY_WITHIN_S, Certificates, RedisServer, address

SLOTS = 16_384
NODES = 3


class RedisCluster:
    """A cluster that runs inside `with RedisCluster() as cluster:`; its address is `cluster.url`.
    It keeps nothing over a restart.

    With `tls` its clients and its nodes speak over TLS alone. Raises `RedisMissing`.
    """

    def __init__(self, tls: Certificates | None = None) -> None:
        self._bus_ports = free_ports(NODES)
        self._tls = tls
        between = () if tls is None else ("--tls-cluster", "yes")
        self.nodes = [
            RedisServer(options=(*NO_PERSISTENCE, *_clustered(port), *between), tls=tls) for port in self._bus_ports
        ]
        self._running = ExitStack()

    @property
    def url(self) -> str:
        """Its address, redis+cluster://host:port,host:port,host:port, or rediss+cluster://… with
        its authority.
        """
        return address([node.port for node in self.nodes], self._tls, form="+cluster")

    def flush(self) -> None:
        """Forget all data."""
        for node in self.nodes:
            with Redis.from_url(node.url) as client:
                client.flushall()

    def __enter__(self) -> "RedisCluster":
        with ExitStack() as started:
            for node in self.nodes:
                started.enter_context(node)
            self._join()
            self._running = started.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    def _join(self) -> None:
        bounds = [SLOTS * index // NODES for index in range(NODES + 1)]
        for index, node in enumerate(self.nodes):
            with Redis.from_url(node.url) as client:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", bounds[index], bounds[index + 1] - 1)
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port, self._bus_ports[0])
        if not await_true(lambda: all(_agrees(node) for node in self.nodes), READY_WITHIN_S):
            raise ChildFailed(f"the nodes of the Redis Cluster did not find each other within {READY_WITHIN_S:g} s")


def _clustered(bus_port: int) -> tuple[str, ...]:
    return ("--cluster-enabled", "yes", "--cluster-port", str(bus_port), "--cluster-node-timeout", "2000")


def _agrees(node: RedisServer) -> bool:
    with Redis.from_url(node.url, decode_responses=True) as client:
        info = str(client.execute_command("CLUSTER", "INFO"))
    return "cluster_state:ok" in info and f"cluster_known_nodes:{NODES}" in info and f"cluster_size:{NODES}" in info
