"""Servers under load: the service or a bare app, readers registered with it, and its rates."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks.tables import BUILD
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.process import Child, free_ports
from lockgate_testbed.progress import progress_bar

HERE = Path(__file__).parent
CONNECTIONS, BATCH = 32, 10_000
CONFIG = {"lease_ms": 3_600_000, "max_drift_ms": 1_000}
Found = dict[str, list[float]]


@dataclass
class Served:
    """A server under load, and the readers that are registered with it."""

    name: str
    urls: list[str]
    pids: list[int]
    paths: list[str]
    bodies: list[str]

    def cpu(self) -> float:
        """Processor seconds that its processes have used."""
        return sum(map(processor_seconds, self.pids))


def processor_seconds(pid: int | None) -> float:
    """User and system time of a process; 0 of none."""
    if pid is None:
        return 0.0
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) / os.sysconf(
        "SC_CLK_TCK"
    )


def load(kind: str, **job: Any) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(HERE / "load.py"), kind],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@contextmanager
def bare(kind: str) -> Iterator[tuple[str, int]]:
    (port,) = free_ports(1)
    log = BUILD / f"bare-{kind}.log"
    log.unlink(missing_ok=True)
    child = Child(f"the bare {kind}", [sys.executable, str(HERE / "bare.py"), kind, str(port)], log)
    try:
        child.await_ready(lambda: "ready" in child.output(), 30)
        yield f"http://127.0.0.1:{port}", child.pid
    finally:
        child.stop()


def registered(url: str, group: str, readers: int) -> list[int]:
    """Return the epochs of a new group's readers, all of which have reported."""
    path = f"{url}/v1/groups/{group}"
    with httpx.Client(timeout=120) as client:
        client.put(path, json=CONFIG).raise_for_status()
        epochs: list[int] = load(
            "register", urls=[url], paths=[f"/v1/groups/{group}/sources/s/readers"], readers=readers
        )["epochs"]
        for first in range(0, readers, BATCH):
            said = [
                {"source": "s", "subtask": n, "epoch": epochs[n], "watermark": n}
                for n in range(first, min(readers, first + BATCH))
            ]
            client.post(f"{path}/watermarks", json={"reports": said}).raise_for_status()
    return epochs


def serving(name: str, processes: list[CoordinatorProcess], group: str, readers: int, connections: int) -> Served:
    """Let `connections` of the group's readers, spread over the group, report to the processes in
    turn.
    """
    epochs = registered(processes[0].url, group, readers)
    chosen = (
        [n * readers // connections for n in range(connections)]
        if readers >= connections
        else [n % readers for n in range(connections)]
    )
    bodies = [f'{{"subtask":{n},"epoch":{epochs[n]},"watermark":$}}' for n in chosen]
    pids = [pid for pid in (process.pid for process in processes) if pid is not None]
    return Served(
        name,
        [process.url for process in processes],
        pids,
        [f"/v1/groups/{group}/sources/s/watermarks"] * connections,
        bodies,
    )


def rates(served: list[Served], rounds: int, seconds: float, redis: int | None = None) -> tuple[Found, Found, Found]:
    """Return reports a second by the clock, a processor second, and a processor second of both it
    and this Redis, for each in turn.
    """
    wall, cpu, both = ({one.name: list[float]() for one in served} for _ in range(3))
    with progress_bar("reports", rounds * len(served)) as done:
        for turn in range(rounds):
            for n, one in enumerate(served):
                before, redis_before = one.cpu(), processor_seconds(redis)
                began = 10_000_000 * (turn + 1)
                found = load(
                    "reports", urls=one.urls, paths=one.paths, bodies=one.bodies, seconds=seconds, **{"from": began}
                )
                wall[one.name].append(found["requests"] / found["seconds"])
                used, of_redis = one.cpu() - before, processor_seconds(redis) - redis_before
                cpu[one.name].append(found["requests"] / max(used, 0.001))
                both[one.name].append(found["requests"] / max(used + of_redis, 0.001))
                done(turn * len(served) + n + 1)
    return wall, cpu, both
