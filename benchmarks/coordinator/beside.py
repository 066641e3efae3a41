"""The service of this checkout beside that of another one, report by report (`--beside CHECKOUT`).

The other service runs twice on memory: the ratio of a service to itself says what the machine adds.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.coordinator.__main__ import medians, ratio
from benchmarks.coordinator.served import CONNECTIONS, rates, serving
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

PACKAGES = ("core", "services/coordinator", "clients/http", "clients/cli", "clients/spark")
OLD_WAY_IN = "services/coordinator/src/lockgate_coordinator/__main__.py"
"""What a checkout runs that has no `lockgate_cli` yet."""
HERE = Path(__file__).parents[2]


def bench_beside(rounds: int, seconds: float, other: Path) -> dict[str, Any]:
    with ExitStack() as started:
        redis = [started.enter_context(RedisServer()) for _ in range(2)]
        places = {
            "memory, other": (other, "memory://"),
            "memory, this": (HERE, "memory://"),
            "memory, other again": (other, "memory://"),
            "redis, other": (other, redis[0].url),
            "redis, this": (HERE, redis[1].url),
        }
        served = []
        for name, (checkout, store) in places.items():
            sources = ":".join(str(checkout / package / "src") for package in PACKAGES)
            module = "lockgate_coordinator" if (checkout / OLD_WAY_IN).exists() else "lockgate_cli"
            process = started.enter_context(CoordinatorProcess(store, env={"PYTHONPATH": sources}, module=module))
            served.append(serving(name, [process], "bench", CONNECTIONS, CONNECTIONS))
        wall, cpu, _ = rates(served, rounds, seconds)
    return {
        "per_second": medians(wall),
        "memory_this_to_other": ratio(wall, "memory, this", "memory, other"),
        "memory_other_to_itself": ratio(wall, "memory, other again", "memory, other"),
        "redis_this_to_other": ratio(wall, "redis, this", "redis, other"),
        "memory_this_to_other_by_cpu": ratio(cpu, "memory, this", "memory, other"),
        "memory_other_to_itself_by_cpu": ratio(cpu, "memory, other again", "memory, other"),
        "redis_this_to_other_by_cpu": ratio(cpu, "redis, this", "redis, other"),
    }
