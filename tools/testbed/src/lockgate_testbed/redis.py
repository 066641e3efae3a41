"""A real Redis from the system's own package, on a loopback port of its own."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockgate_testbed.errors import RedisMissing
from lockgate_testbed.process import Child, free_ports
from lockgate_testbed.server import Server

READY_WITHIN_S = 20.0
NO_PERSISTENCE = ("--save", "", "--appendonly", "no")


def redis_binary() -> str:
    """Return the path of `redis-server`. Raises `RedisMissing` if it is not on the PATH."""
    found = shutil.which("redis-server")
    if found is None:
        raise RedisMissing(
            "no redis-server on the PATH: install it (Debian: apt-get install redis-server; macOS: brew install redis)"
        )
    return found


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: a certificate authority, a certificate of it for 127.0.0.1, and that one's key."""

    ca: Path
    certificate: Path
    key: Path

    def settings(self, port: int) -> list[tuple[str, str]]:
        """By Redis's own names: to listen at `port` over TLS alone, with these, and to ask clients
        for none.
        """
        files = [("tls-ca-cert-file", self.ca), ("tls-cert-file", self.certificate), ("tls-key-file", self.key)]
        return [
            ("port", "0"),
            ("tls-port", str(port)),
            ("tls-auth-clients", "optional"),
            *((name, str(file)) for name, file in files),
        ]


def address(ports: Sequence[int], tls: Certificates | None = None, *, form: str = "", path: str = "") -> str:
    """Return the address of one or more Redis servers on this machine: redis://…, or rediss://…
    with its authority. `form`: "+cluster" or "+sentinel".
    """
    hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"redis{form}://{hosts}{path}" if tls is None else f"rediss{form}://{hosts}{path}?ssl_ca_certs={tls.ca}"


class RedisServer(Server):
    """A Redis that runs inside `with RedisServer() as redis:`; its address is `redis.url`.

    It keeps nothing over a restart unless `options` say so, such as `("--appendonly", "yes")`
    (redis-server's own arguments). With `tls` it listens over TLS alone, and asks its clients for
    no certificate unless `options` say so. `env` are further environment variables. Raises
    `RedisMissing`.
    """

    def __init__(
        self,
        data: Path | None = None,
        options: Sequence[str] = NO_PERSISTENCE,
        tls: Certificates | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._binary = redis_binary()
        super().__init__("redis", data)
        (self.port,) = free_ports(1)
        self._options = tuple(options)
        self._tls = tls
        self._env = dict(env or {})

    @property
    def url(self) -> str:
        """Its address, redis://host:port/0, or rediss://… with its authority."""
        return address([self.port], self._tls, path="/0")

    def _launch(self) -> Child:
        command = [
            self._binary,
            *self._listening(),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.data),
            "--daemonize",
            "no",
            *self._options,
        ]
        child = Child("redis-server", command, self.log, self._env)
        # By its log rather than by a PING: it may ask for a password or a certificate. It says this
        # once its data is there.
        return child.await_ready(lambda: "Ready to accept connections" in child.output(), READY_WITHIN_S)

    def _listening(self) -> list[str]:
        if self._tls is None:
            return ["--port", str(self.port)]
        return [part for name, value in self._tls.settings(self.port) for part in (f"--{name}", value)]
