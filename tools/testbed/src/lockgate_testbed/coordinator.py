"""The coordinator service as a process of its own, as an operator would run it."""

import sys
from collections.abc import Mapping, Sequence

from lockgate_testbed.process import Child, free_ports
from lockgate_testbed.server import Server

READY_WITHIN_S = 30.0


class CoordinatorProcess(Server):
    """`lockgate serve` inside `with CoordinatorProcess() as coordinator:`; its address is
    `coordinator.url`.

    `store` is "memory://" or a Redis URL; `port` 0 is any free one. `options` are further arguments
    of `lockgate serve`, `env` further environment variables, `module` the one that is run. With
    `--ssl-certfile` among the options its address is https.
    """

    def __init__(
        self,
        store: str = "memory://",
        port: int = 0,
        options: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        module: str = "lockgate_cli",
    ) -> None:
        super().__init__("coordinator", None)
        self._store = store
        self._port = port or free_ports(1)[0]
        self._options = tuple(options)
        self._env = dict(env or {})
        self._module = module

    @property
    def url(self) -> str:
        """Its address, http://host:port or https://host:port."""
        return f"{'https' if '--ssl-certfile' in self._options else 'http'}://127.0.0.1:{self._port}"

    def terminate(self) -> None:
        """Shut down in order; the same as `stop()`."""
        self.stop()

    def _launch(self) -> Child:
        command = [
            sys.executable,
            "-m",
            self._module,
            "serve",
            "--port",
            str(self._port),
            "--store",
            self._store,
            *self._options,
        ]
        child = Child("the coordinator", command, self.log, {"PYTHONUNBUFFERED": "1", **self._env})
        return child.await_ready(lambda: f"lockgate listens on {self.url}" in child.output(), READY_WITHIN_S)
