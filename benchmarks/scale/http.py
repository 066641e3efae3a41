"""Part `http`: readers over HTTP against two coordinator processes and a real Redis."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.process import GUARD, processor_seconds
from lockgate_testbed.redis import RedisServer

CONFIG = {"max_drift_ms": 60_000, "lease_ms": 30_000, "update_interval_ms": 1_000}
PROCESSES, WARM_S = 2, 5


def measured(
    readers: int,
    groups: int,
    partitions: int,
    every_s: float,
    seconds: int,
    progress: Callable[[int], None],
    kinds: str = "late live",
) -> dict[str, Any]:
    """Run the readers for `seconds`, each with a report every `every_s`, and return the figures."""
    kind = kinds.split()
    names = [f"{kind[n % len(kind)]}-{n}" for n in range(groups)]
    with ExitStack() as started:
        redis = started.enter_context(RedisServer())
        processes = [started.enter_context(CoordinatorProcess(redis.url)) for _ in range(PROCESSES)]
        for name in names:
            httpx.put(f"{processes[0].url}/v1/groups/{name}", json=CONFIG, timeout=60).raise_for_status()
        pids = {f"coordinator {n}": each.pid for n, each in enumerate(processes, 1)} | {"Redis": redis.pid}
        job = {
            "urls": [each.url for each in processes],
            "groups": names,
            "readers": readers,
            "partitions": partitions,
            "seconds": seconds,
            "warm_s": WARM_S,
            "interval_s": every_s,
        }
        guard = [sys.executable, "-I", "-S", str(GUARD), str(os.getpid())]  # it ends with this process
        driver = subprocess.Popen(
            [*guard, sys.executable, str(Path(__file__).with_name("readers.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert driver.stdin is not None
        assert driver.stdout is not None
        assert driver.stderr is not None
        try:
            driver.stdin.write(json.dumps(job))
            driver.stdin.close()
            said, used, began = "", dict[str, float](), 0.0
            resident = {name: [_resident(pid)] for name, pid in pids.items()}
            for line in driver.stderr:
                what, _, count = line.partition(" ")
                if what == "second":
                    progress(int(count))
                    if not used:
                        used, began = {name: processor_seconds(pid) for name, pid in pids.items()}, time.monotonic()
                    for name, pid in pids.items():
                        resident[name].append(_resident(pid))
                else:
                    said += line
            lasted = time.monotonic() - began
            cores = {name: (processor_seconds(pids[name]) - before) / lasted for name, before in used.items()}
            found: dict[str, Any] = json.load(driver.stdout) if driver.wait(60) == 0 else {}
        finally:
            driver.kill()
        assert found, f"the readers failed:\n{said}"
        with Redis.from_url(redis.url) as client:
            stored = client.info("memory")["used_memory"]
    return {
        "readers": readers,
        "groups": groups,
        "partitions": readers * partitions,
        "report_every_s": every_s,
        "reports_a_second": found["counts"]["reports"] / found["seconds"],
        "events_a_second": found["counts"].get("events", 0) / found["seconds"],
        "errors": {name: count for name, count in found["counts"].items() if name not in ("reports", "events")},
        **{name: value for name, value in found.items() if name != "counts"},
        "cores": cores,
        "resident_mb": {
            name: {"before": each[0] / 1e6, "first": each[1] / 1e6, "last": each[-1] / 1e6}
            for name, each in resident.items()
        },
        "redis_used_mb": stored / 1e6,
    }


def _resident(pid: int | None) -> int:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return 1_024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
