"""A real Redis from the system's own package, on a loopback port of its own."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: a certificate authority, a certificate of it for 127.0.0.1, and that one's key."""

    ca: Path
    certificate: Path
    key: Path


class RedisServer(Server):
    """A Redis that runs inside `with RedisServer() as redis:`; its address is `redis.url`.

    It keeps nothing over a restart unless `options` say so, such as `("--appendonly", "yes")` (redis-server's own arguments). With
    `tls` it listens over TLS alone, and asks its clients for no certificate unless `options` say so. Raises `RedisMissing`.
    """

    def __init__(self, data: Path | None = None, options: Sequence[str] = NO_PERSISTENCE, tls: Certificates | None = None) -> None:
        self._binary = redis_binary()
        super().__init__("redis", data)
        (self.port,) = free_ports(1)
        self._options = tuple(options)
        self._tls = tls

    @property
    def url(self) -> str:
        """Its address, redis://host:port/0, or rediss://… with its authority."""
        if self._tls is None:
            return f"redis://127.0.0.1:{self.port}/0"
        return f"rediss://127.0.0.1:{self.port}/0?ssl_ca_certs={self._tls.ca}"

    def _launch(self) -> Child:
        command = [self._binary, *self._listening(), "--bind", "127.0.0.1", "--dir", str(self.data), "--daemonize", "no", *self._options]
        child = Child("redis-server", command, self.log)
        # By its log rather than by a PING: it may ask for a password or a certificate. It says this once its data is there.
        return child.await_ready(lambda: "Ready to accept connections" in child.output(), READY_WITHIN_S)

    def _listening(self) -> list[str]:
        if self._tls is None:
            return ["--port", str(self.port)]
        files = ["--tls-ca-cert-file", self._tls.ca, "--tls-cert-file", self._tls.certificate, "--tls-key-file", self._tls.key]
        return ["--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "optional", *map(str, files)]
