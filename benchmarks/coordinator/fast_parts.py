"""The part `fast` of `make bench-coordinator`: how much each fast part of the service saves."""

from contextlib import ExitStack
from typing import Any

from benchmarks.coordinator.__main__ import CONNECTIONS, Found, rates, ratio, serving
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

GROUP_OF = 1_000
"""Readers of the group that the part `fast` reports to over Redis."""


def bench_fast(rounds: int, seconds: float) -> dict[str, Any]:
    """Measure what each fast part (`lockgate_coordinator.fast`) saves: the service without it,
    beside the service with all parts.
    """
    found: dict[str, Any] = {}
    with RedisServer() as redis:
        for store, readers, parts in (
            ("memory://", CONNECTIONS, ("lean_reports", "whole_answers", "all")),
            (redis.url, GROUP_OF, ("redis_link", "group_cache", "gathering", "all")),
        ):
            with ExitStack() as started:
                served = [
                    serving(part, [started.enter_context(without(part, store))], f"w-{part}", readers, CONNECTIONS)
                    for part in ("", *parts)
                ]
                wall, cpu, both = rates(served, rounds, seconds, None if store == "memory://" else redis.pid)
            found |= {part: saved(wall, cpu, both, part) for part in parts if part != "all"}
            found["all, memory" if store == "memory://" else "all, redis"] = saved(wall, cpu, both, "all")
        with ExitStack() as started:
            served = [
                serving(
                    part, [started.enter_context(without(part, redis.url)) for _ in range(2)], f"two-{part}", 64, 64
                )
                for part in ("", "gathering", "claims")
            ]
            wall, cpu, both = rates(served, rounds, seconds, redis.pid)
        found["gathering, two processes"] = saved(wall, cpu, both, "gathering")
        found["claims, two processes"] = saved(wall, cpu, both, "claims")
    return found


def without(part: str, store: str) -> CoordinatorProcess:
    return CoordinatorProcess(store, env={"LOCKGATE_PLAIN": part})


def saved(wall: Found, cpu: Found, both: Found, part: str) -> dict[str, Any]:
    """How many times as many reports the service with all parts takes as the one without `part`."""
    return {
        "by_the_clock": ratio(wall, "", part),
        "by_cpu": ratio(cpu, "", part),
        "by_cpu_with_redis": ratio(both, "", part),
    }
