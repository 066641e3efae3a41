"""Where a `StreamJob` runs: over a Spark Connect server, from a Python without a JVM; or as a
program in Scala, by spark-submit.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import support
from lockgate_testbed.process import Child
from lockgate_testbed.spark_connect import ConnectServer, client
from lockgate_testbed.spark_programs import submit
from support.stream_jobs import StreamJob

PROGRAM = Path(support.__path__[0]) / "connect_job.py"
PATIENCE_S = 400.0  # a JVM starts, among others that do, and a whole job runs


class Environment(Protocol):
    """Starts a job; its output goes to `job.log` in the job's folder, run after run."""

    def start(self, job: StreamJob) -> Child: ...


@dataclass(frozen=True, slots=True)
class OverConnect:
    """Each job is a client of its own of one server."""

    server: ConnectServer

    def start(self, job: StreamJob) -> Child:
        job.folder.mkdir(parents=True, exist_ok=True)
        return client(job.name, job.folder / "job.log", PROGRAM, *job.arguments(), server=self.server)


@dataclass(frozen=True, slots=True)
class InScala:
    """Each job is a driver of its own. `program`: the compiled `StreamJob.scala`; `conf` and `jars`
    as in `spark_programs.submit`.
    """

    program: Path
    conf: Mapping[str, str] = field(default_factory=dict)
    jars: tuple[Path, ...] = ()

    def start(self, job: StreamJob) -> Child:
        job.folder.mkdir(parents=True, exist_ok=True)
        started = ("--class", "StreamJob", self.program, *job.arguments())
        return submit(job.name, job.folder / "job.log", *started, conf=self.conf, jars=self.jars)


@dataclass(frozen=True, slots=True)
class Told:
    """What a job has printed: all of it, and the progress of its batches."""

    output: str

    @property
    def progress(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.splitlines() if line.startswith('{"') or line == "{"]

    def metric(self, name: str) -> list[str]:
        """A metric of the first source, batch by batch, where it is there."""
        sources = (found["sources"][0].get("metrics") or {} for found in self.progress)
        return [metrics[name] for metrics in sources if name in metrics]


def finished(running: Child, timeout_s: float = PATIENCE_S) -> Told:
    """What a job has printed, once it has ended by itself. Raises `ChildFailed` if it failed."""
    told = Told(running.wait(timeout_s))
    assert "finished" in told.output.splitlines(), told.output
    return told
