"""A Spark Connect server as a process of its own, and a Python for its clients that has no JVM:
`pyspark-client` brings neither py4j nor Spark's jars.
"""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lockgate_testbed import jars
from lockgate_testbed.errors import ClientUnavailable
from lockgate_testbed.java import java
from lockgate_testbed.process import Child, free_ports, port_open
from lockgate_testbed.server import Server
from lockgate_testbed.spark_programs import submit

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
READY_WITHIN_S = 180.0
PACKAGES = {"lockgate": "lockgate", "lockgate-http": "lockgate_http", "lockgate-spark": "lockgate_spark"}
"""Of this checkout, for its clients, each with what is imported."""
CONSTRAINTS = jars.CHECKOUT / "tools" / "constraints" / "dev.txt"


class ConnectServer(Server):
    """A server that runs inside `with ConnectServer() as server:`; its address is `server.url`.

    `conf` is laid over the test bed's defaults; `jars` are put on its classpath beside the Kafka
    connector's. Its pid is the driver's JVM. Raises `ChildFailed`, `JavaMissing`,
    `JarsUnavailable`.
    """

    def __init__(
        self,
        conf: Mapping[str, str] | None = None,
        jars: Sequence[Path] = (),
        cores: int = 2,
        env: Mapping[str, str] | None = None,
        data: Path | None = None,
    ) -> None:
        java()
        super().__init__("spark-connect", data)
        (self._port,) = free_ports(1)
        self._conf, self._jars, self._cores, self._env = dict(conf or {}), tuple(jars), cores, dict(env or {})

    @property
    def url(self) -> str:
        """Its address, sc://host:port."""
        return f"sc://127.0.0.1:{self._port}"

    def _launch(self) -> Child:
        listening = {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": str(self._port),
            "spark.sql.warehouse.dir": str(self.data / "warehouse"),
            "spark.sql.artifact.isolation.enabled": "true",
        }
        program = ("--class", SERVER, "spark-internal")
        conf = {**listening, **self._conf}
        child = submit(
            "the Connect server", self.log, *program, conf=conf, jars=self._jars, cores=self._cores, env=self._env
        )
        return child.await_ready(lambda: port_open(self._port), READY_WITHIN_S)


def client_python() -> Path:
    """Make a Python with `pyspark-client` and what `lockgate_spark` needs, but no py4j, once in the
    folder of the jars. Raises `ClientUnavailable` with pip's complaint.
    """
    version = importlib.metadata.version("pyspark")
    folder = jars.cache_dir() / f"connect-client-{version}-python{sys.version_info.major}.{sys.version_info.minor}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    python, marker = folder / "bin" / "python", folder / jars.MARKER
    with jars.only_one(folder.with_name(f"{folder.name}.lock")):
        if not marker.is_file():
            shutil.rmtree(folder, ignore_errors=True)
            print(f"lockgate test bed: a Python with pyspark-client in {folder} …", file=sys.stderr, flush=True)
            _run([sys.executable, "-m", "venv", str(folder)])
            # Clients of Connect work with servers that are newer, so an older one will do.
            pinned = ("-c", str(CONSTRAINTS)) if CONSTRAINTS.is_file() else ()
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pinned]
            _run([*pip, f"pyspark-client>=4.0,<={version}", "httpx"])
            marker.touch()
    return python


def client(
    name: str, log: Path, *program: object, server: ConnectServer, env: Mapping[str, str] | None = None
) -> Child:
    """Return a program of the client's Python, in a process that finds no Java; `SPARK_REMOTE` is
    the server. The packages of this checkout are on its path. Raises `ClientUnavailable`.
    """
    return Child(name, [str(client_python()), *map(str, program)], log, {**client_env(server), **(env or {})})


def client_env(server: ConnectServer) -> dict[str, str]:
    """Return the environment of such a process."""
    found = (importlib.util.find_spec(name) for name in PACKAGES.values())
    sources = [str(Path(spec.origin).parents[1]) for spec in found if spec and spec.origin]
    sources.append(str(_versions(server.data / "versions")))
    own = {"PYTHONPATH": os.pathsep.join(sources), "PYTHONUNBUFFERED": "1", "SPARK_REMOTE": server.url}
    return {**own, "PATH": str(client_python().parent), "JAVA_HOME": "", "SPARK_HOME": ""}


def _versions(folder: Path) -> Path:
    """Make a folder in which `importlib.metadata` finds the packages of this checkout."""
    folder.mkdir(exist_ok=True)
    for name in PACKAGES:
        described = next(file for file in importlib.metadata.files(name) or () if file.name == "METADATA")
        info = Path(str(described.locate())).parent
        if not (link := folder / info.name).exists():
            link.symlink_to(info)
    return folder


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise ClientUnavailable(f"{' '.join(command)} failed: let pip reach an index of packages.\n{done.stdout}")
