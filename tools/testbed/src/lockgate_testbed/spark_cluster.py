"""A standalone Spark cluster on this machine, from the jars of the installed PySpark: a master and
two workers, each a process.
"""

from lockgate_testbed.java import java
from lockgate_testbed.process import Child, free_ports
from lockgate_testbed.server import Server
from lockgate_testbed.spark_programs import spark_home

READY_WITHIN_S = 60.0
WORKERS = 2


class StandaloneCluster(Server):
    """A cluster that runs inside `with StandaloneCluster() as cluster:`; its address is
    `cluster.url`.

    A worker has two cores and `memory`, and works in the folder `worker-0` or `worker-1` of
    `cluster.data`. Raises `JavaMissing` and `ChildFailed`.
    """

    def __init__(self, memory: str = "2g") -> None:
        java()
        super().__init__("spark-cluster", None)
        self._memory = memory
        (self._port,) = free_ports(1)
        self._workers: list[Child] = []

    @property
    def url(self) -> str:
        """Its address, spark://host:port."""
        return f"spark://127.0.0.1:{self._port}"

    def stop(self) -> None:
        """Shut down in order; a worker takes its executors and drivers with it."""
        while self._workers:
            self._workers.pop().stop()
        super().stop()

    def kill(self) -> None:
        """Stop it as `stop` does, since children of a worker would outlive a crash of it."""
        self.stop()

    def _launch(self) -> Child:
        master = self._child_of("master", "master.Master", "--port", str(self._port))
        master.await_ready(lambda: "I have been elected leader" in master.output(), READY_WITHIN_S)
        try:
            for n in range(WORKERS):
                self._workers.append(self._worker(n))
        except BaseException:
            master.kill()
            raise
        return master

    def _worker(self, n: int) -> Child:
        name = f"worker-{n}"
        resources = ("--cores", "2", "--memory", self._memory, "--work-dir", str(self.data / name))
        worker = self._child_of(name, "worker.Worker", *resources, self.url)
        return worker.await_ready(lambda: "Successfully registered with master" in worker.output(), READY_WITHIN_S)

    def _child_of(self, name: str, main_class: str, *arguments: str) -> Child:
        listening = ("--host", "127.0.0.1", "--webui-port", "0")
        command = [
            str(spark_home() / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{main_class}",
            *listening,
            *arguments,
        ]
        env = {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_NO_DAEMONIZE": "1"}
        return Child(f"Spark's {name}", command, self.data / f"{name}.log", env)
