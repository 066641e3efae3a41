"""A real Redis from the system's own package, on a loopback port of its own."""

import shutil
import socket
from collections.abc import Sequence
from pathlib import Path

from lockgate_testbed.errors import RedisMissing
from lockgate_testbed.process import Child, free_ports
from lockgate_testbed.server import Server

READY_WITHIN_S = 20.0
NO_PERSISTENCE = ("--save", "", "--appendonly", "no")


def redis_binary() -> str:
    """The path of `redis-server`. Raises `RedisMissing` when it is not on the PATH."""
    found = shutil.which("redis-server")
    if found is None:
        raise RedisMissing("no redis-server on the PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis)")
    return found


class RedisServer(Server):
    """A Redis that runs inside `with RedisServer() as redis:`; its address is `redis.url`.

    It keeps nothing over a restart unless `options` say so, such as `("--appendonly", "yes")` (redis-server's own arguments).
    Raises `RedisMissing`.
    """

    def __init__(self, data: Path | None = None, options: Sequence[str] = NO_PERSISTENCE) -> None:
        self._binary = redis_binary()
        super().__init__("redis", data)
        (self.port,) = free_ports(1)
        self._options = tuple(options)

    @property
    def url(self) -> str:
        """Its address, redis://host:port/0."""
        return f"redis://127.0.0.1:{self.port}/0"

    def _launch(self) -> Child:
        command = [
            self._binary,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.data),
            "--daemonize",
            "no",
            *self._options,
        ]
        return Child("redis-server", command, self.log).await_ready(self._answers, READY_WITHIN_S)

    def _answers(self) -> bool:
        # Through the wire rather than a client library: PING is answered with -LOADING until the data is there.
        return _ping(self.port) == b"+PONG"


def _ping(port: int) -> bytes:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(64).strip()
    except OSError:
        return b""
