"""Runs of Flink as traces: its jobs run one after the other in one JVM, as Spark's queries do."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.flink.trace import ALL, NOTHING, Numbers, Seconds, Trace
from benchmarks.skew.shapes import JOIN_WITHIN_MS, Shape
from lockgate_testbed import jars
from lockgate_testbed.java import java, options
from lockgate_testbed.process import Child
from lockgate_testbed.skew import HOUR_MS, T0_MS

JOB = Path(__file__).with_name("Backlog.java")
# Flink's serializer looks into the collections and times of the JDK.
OPENS = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "time", "util", "util.concurrent")]
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
PARALLELISM = 2
GRACE_S = 60  # to start a job, and to end it
Samples = tuple[Seconds, Seconds, Numbers, Numbers]


@dataclass(frozen=True, slots=True)
class Setting:
    """`interval_ms`: between two announcements of the coordinator; 0 without alignment. `idle_ms`:
    of withIdleness; 0 without. `watermark_every`: so many records of a partition; 0: by Flink's
    interval alone. `flink` and `kafka`: options of the job and of its consumers.
    """

    interval_ms: int = 0
    idle_ms: int = 0
    watermark_every: int = 0
    flink: Mapping[str, str] = field(default_factory=dict)
    kafka: Mapping[str, str] = field(default_factory=dict)


UNALIGNED = Setting()
DEFAULTS = Setting(interval_ms=1_000)
BEST = Setting(
    interval_ms=20,
    watermark_every=10,
    flink={"pipeline.watermark-alignment.buffer-size": "0", "pipeline.auto-watermark-interval": "10 ms"},
    kafka={
        "max.poll.records": "50",
        "max.partition.fetch.bytes": "8192",
        "source.reader.element.queue.capacity": "1",
    },
)


class Flink:
    """The JVM, with a folder for orders and answers."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self._folder, self._bootstrap, self._orders = folder, bootstrap, 0
        command = [java(), "-Xmx3g", *options(), *OPENS, QUIET, "-cp", _compiled(folder), "Backlog", str(folder)]
        self._child = Child("Flink", command, folder / "flink.log")

    @classmethod
    @contextmanager
    def running(cls, folder: Path, bootstrap: str) -> Iterator["Flink"]:
        """Start it for the time of a `with`."""
        flink = cls(folder, bootstrap)
        try:
            yield flink
        finally:
            flink._child.kill()

    def run(self, shape: Shape, setting: Setting, max_drift_ms: int, limit_s: int) -> tuple[Trace, dict[int, int], int]:
        """Run a shape's job to its end, or for `limit_s`: its trace, the rows that it counted by
        hour, and the late ones. Raises `ChildFailed`.
        """
        order = {
            "topics": ",".join(topic.name for topic in shape.topics),
            "sizes": ";".join(",".join(str(len(log)) for log in topic.logs) for topic in shape.topics),
            "window_ms": HOUR_MS,
            "within_ms": JOIN_WITHIN_MS,
            "delay_ms": shape.delay_ms,
            "drift_ms": max_drift_ms if setting.interval_ms else 0,
        }
        found, answer = self.job(order, setting, sum(len(topic.logs) for topic in shape.topics), limit_s)
        counted = {(int(start) - T0_MS) // HOUR_MS: rows for start, rows in answer["counted"].items()}
        return Trace(shape, *found), counted, answer["late"]

    def job(self, order: Mapping[str, object], setting: Setting, splits: int, limit_s: int) -> tuple[Samples, Any]:
        """Run a job: clock and processor time in seconds, watermark and positions of each sample,
        and the job's answer. Raises `ChildFailed`.
        """
        number, self._orders = self._orders, self._orders + 1
        checkpoints = self._folder / "checkpoints"
        more = {
            "bootstrap": self._bootstrap,
            "parallelism": PARALLELISM,
            "interval_ms": setting.interval_ms,
            "idle_ms": setting.idle_ms,
            "watermark_every": setting.watermark_every,
            "limit_s": limit_s,
            "flink.restart-strategy.type": "none",
            # a batch of Spark writes one, too
            "flink.execution.checkpointing.interval": "1 s",
            "flink.execution.checkpointing.dir": checkpoints.as_uri(),
            **{f"flink.{key}": value for key, value in setting.flink.items()},
            **{f"kafka.{key}": value for key, value in setting.kafka.items()},
        }
        part = self._folder / "order.part"
        part.write_text("".join(f"{key}={value}\n" for key, value in {**order, **more}.items()))
        part.replace(self._folder / f"{number}.order")
        answer = self._folder / f"{number}.json"
        self._child.await_ready(answer.exists, limit_s + GRACE_S)
        shutil.rmtree(checkpoints, ignore_errors=True)
        found = np.fromfile(self._folder / f"{number}.trace", dtype=">i8").astype(np.int64).reshape(-1, 3 + splits)
        # Flink's watermark is the last event time that is closed.
        watermark = np.clip(found[:, 2], NOTHING, ALL) + 1
        return (found[:, 0] / 1e3, found[:, 1] / 1e9, watermark, found[:, 3:]), json.loads(answer.read_text())


def _compiled(folder: Path) -> str:
    """Compile the job, and return its classpath."""
    javac = shutil.which("javac", path=str(Path(java()).resolve().parent)) or shutil.which("javac")
    if javac is None:
        raise SystemExit("no javac beside java: install a JDK (Debian: apt-get install openjdk-17-jdk-headless)")
    libraries = ":".join(map(str, jars.flink()))
    subprocess.run([javac, "-cp", libraries, "-d", str(folder), str(JOB)], check=True)
    return f"{folder}:{libraries}"
