"""A real Prometheus from the system's own package, on a loopback port of its own; and promtool."""

import shutil
from pathlib import Path

from lockgate_testbed.errors import PrometheusMissing
from lockgate_testbed.process import Child, free_ports
from lockgate_testbed.server import Server

READY_WITHIN_S = 30.0


def prometheus_binary(name: str = "prometheus") -> str:
    """Return the path of `prometheus`, or of `promtool`. Raises `PrometheusMissing` if it is not on
    the PATH.
    """
    found = shutil.which(name)
    if found is None:
        raise PrometheusMissing(
            f"no {name} on the PATH: install it (Debian: RUNLEVEL=1 apt-get install prometheus, so that the package "
            "starts no server of its own; macOS: brew install prometheus)"
        )
    return found


class PrometheusServer(Server):
    """A Prometheus inside `with PrometheusServer(folder) as prometheus:`. `folder` has its
    prometheus.yml and whatever that names; its data and its log go there too. Raises
    `PrometheusMissing`.
    """

    def __init__(self, folder: Path) -> None:
        self._binary = prometheus_binary()
        super().__init__("prometheus", folder)
        (self.port,) = free_ports(1)

    @property
    def url(self) -> str:
        """Its address, http://host:port."""
        return f"http://127.0.0.1:{self.port}"

    def _launch(self) -> Child:
        command = [
            self._binary,
            f"--config.file={self.data / 'prometheus.yml'}",
            f"--storage.tsdb.path={self.data / 'tsdb'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        child = Child("prometheus", command, self.log)
        return child.await_ready(lambda: "Server is ready to receive web requests" in child.output(), READY_WITHIN_S)
