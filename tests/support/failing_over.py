"""A Redis behind one address that fails over to a replica, and loses its last writes with that."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from redis import Redis

from lockgate_testbed.link import Link
from lockgate_testbed.process import await_true
from lockgate_testbed.redis import READY_WITHIN_S, RedisServer


class FailingOver:
    """Inside `with`. `kill`, `stop` and `start` befall the master that there is. `data` is the
    folder for the data of all servers, `env` are further environment variables.
    """

    def __init__(self, options: Sequence[str], data: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        self._options, self._data, self._env = options, data, env
        self._count = 0
        self._master = self._server()
        self._link = Link(self._master.port)
        self._ends = ExitStack()

    def __enter__(self) -> "FailingOver":
        with ExitStack() as ends:
            ends.enter_context(self._master)
            ends.enter_context(self._link)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _server(self) -> RedisServer:
        self._count += 1
        folder = None if self._data is None else self._data / f"redis-{self._count}"
        return RedisServer(folder, self._options, env=self._env)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._link.port}/0"

    def kill(self) -> None:
        self._master.kill()

    def stop(self) -> None:
        self._master.stop()

    def start(self) -> None:
        self._master.start()

    def fail_over(self, lost_s: float) -> None:
        """Promote a replica that lacks what the master wrote in its last `lost_s` seconds."""
        replica = self._ends.enter_context(self._server())
        with Redis(port=self._master.port) as here, Redis(port=replica.port) as there:
            here.config_set("repl-diskless-sync-delay", 0)
            there.replicaof("127.0.0.1", str(self._master.port))
            assert await_true(lambda: there.info("replication").get("master_link_status") == "up", READY_WITHIN_S)
            there.replicaof("NO", "ONE")
        threading.Event().wait(lost_s)
        self._master.kill()
        self._master = replica
        self._link.lead_to(replica.port)
