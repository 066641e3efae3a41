"""Speed of the coordinator service, each pair in turn in one run (`make bench-coordinator`).

    reports   one report a request, 32 connections: bare ASGI app (compiled parser; standard json),
              memory, Redis
    batch     10,000 reports a request: the JSON parser alone, memory, Redis
    streams   1,000 subscribers, a change every 100 ms: a bare loop over sockets, the service
    replicas  two processes over the same Redis on one group; one process, under the same load and
              half of it; two with a group each
    beside    this checkout's service beside that of another one, `--beside CHECKOUT`; only if named

`make bench-coordinator ARGS="reports --rounds 9"` runs a part. Rates are given twice: by the
clock, where the load generator and Redis want the same cores, and by the processor time of the
service's own processes, which says what a report costs them; `…_with_redis` counts Redis's
processor time as well. A ratio is the median over the rounds of one round's ratio, so that what
else the machine does falls on both.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec

from benchmarks.coordinator.served import (
    BATCH,
    CONNECTIONS,
    Found,
    Served,
    bare,
    load,
    processor_seconds,
    rates,
    registered,
    serving,
)
from benchmarks.tables import markdown, show, spread
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

COLUMNS = ("", "median (range)")


def bench_reports(rounds: int, seconds: float) -> dict[str, Any]:
    with ExitStack() as started:
        url, pid = started.enter_context(bare("reports"))
        plain_url, plain_pid = started.enter_context(bare("json"))
        redis = started.enter_context(RedisServer())
        memory = started.enter_context(CoordinatorProcess())
        shared = started.enter_context(CoordinatorProcess(redis.url))
        body = '{"subtask":7,"epoch":1795268813854,"watermark":$}'
        path = "/v1/groups/bench/sources/s/watermarks"
        served = [
            Served("bare", [url], [pid], [path] * CONNECTIONS, [body] * CONNECTIONS),
            Served("bare, json", [plain_url], [plain_pid], [path] * CONNECTIONS, [body] * CONNECTIONS),
            serving("memory", [memory], "bench", CONNECTIONS, CONNECTIONS),
            serving("redis", [shared], "bench", CONNECTIONS, CONNECTIONS),
        ]
        wall, cpu, both = rates(served, rounds, seconds, redis.pid)
    return {
        "per_second": medians(wall),
        "per_cpu_second": medians(cpu),
        "memory_to_bare": ratio(wall, "memory", "bare"),
        "memory_to_bare_json": ratio(wall, "memory", "bare, json"),
        "redis_to_memory": ratio(wall, "redis", "memory"),
        "memory_to_bare_by_cpu": ratio(cpu, "memory", "bare"),
        "memory_to_bare_json_by_cpu": ratio(cpu, "memory", "bare, json"),
        "redis_to_memory_by_cpu": ratio(cpu, "redis", "memory"),
        "redis_to_memory_with_redis": ratio(both, "redis", "memory"),
    }


def bench_batch(rounds: int, seconds: float) -> dict[str, Any]:
    """Measure reports a second in whole batches, and for comparison the parsing of the same bytes
    into dicts and into typed values.
    """
    wall: Found = {"json": [], "msgspec": [], "memory": [], "redis": []}
    cpu: Found = {"json": [], "memory": [], "redis": []}
    with (
        RedisServer() as redis,
        CoordinatorProcess() as memory,
        CoordinatorProcess(redis.url) as shared,
    ):
        epochs = {
            name: registered(process.url, "b", BATCH) for name, process in (("memory", memory), ("redis", shared))
        }
        pids = {"memory": memory.pid, "redis": shared.pid}
        clients = {
            name: httpx.Client(base_url=process.url, timeout=60)
            for name, process in (("memory", memory), ("redis", shared))
        }
        for client in clients.values():
            client.get("/livez").raise_for_status()
        for turn in range(rounds):
            for name in clients:
                said = [
                    {"source": "s", "subtask": n, "epoch": epoch, "watermark": turn * 1_000 + n}
                    for n, epoch in enumerate(epochs[name])
                ]
                body = json.dumps({"reports": said}).encode()
                if name == "memory":
                    began = time.process_time()
                    wall["json"].append(BATCH / timed(json.loads, body))
                    cpu["json"].append(BATCH / (time.process_time() - began))
                    wall["msgspec"].append(BATCH / timed(msgspec.json.decode, body))
                before = processor_seconds(pids[name])
                wall[name].append(BATCH / timed(sent, clients[name], body))
                cpu[name].append(BATCH / max(processor_seconds(pids[name]) - before, 0.001))
        for client in clients.values():
            client.close()
    return {
        "per_second": medians(wall),
        "per_cpu_second": medians(cpu),
        "memory_to_json": ratio(wall, "memory", "json"),
        "redis_to_json": ratio(wall, "redis", "json"),
        "memory_to_json_by_cpu": ratio(cpu, "memory", "json"),
        "redis_to_json_by_cpu": ratio(cpu, "redis", "json"),
    }


def sent(client: httpx.Client, body: bytes) -> None:
    client.post("/v1/groups/b/watermarks", content=body).raise_for_status()


def timed(work: Callable[..., object], *arguments: Any) -> float:
    began = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - began


def bench_streams(rounds: int, seconds: float, subscribers: int) -> dict[str, Any]:
    took: Found = {"loop": [], "service": []}
    job: dict[str, Any] = {"subscribers": subscribers, "changes": max(5, int(seconds / 0.1)), "pause": 0.1, "from": 0}
    with ExitStack() as started:
        service = started.enter_context(CoordinatorProcess())
        served = serving("service", [service], "streams", 1, 1)
        events = "/v1/groups/streams/alignment/events"
        for turn in range(rounds):
            job["from"] = 1_000_000 * (turn + 1)
            bodies, paths = served.bodies, [served.paths[0], events]
            # its own in each round, without the sockets of the one before
            with bare("streams") as (loop, _):
                took["loop"] += load("streams", urls=[loop], paths=paths, bodies=bodies, greeted=False, **job)[
                    "seconds"
                ]
            took["service"] += load("streams", urls=[service.url], paths=paths, bodies=bodies, greeted=True, **job)[
                "seconds"
            ]
    milliseconds = {name: [1_000 * one for one in found] for name, found in took.items()}
    return {"milliseconds": medians(milliseconds), "service_to_loop": ratio(took, "service", "loop")}


def bench_replicas(rounds: int, seconds: float) -> dict[str, Any]:
    """Two processes on one group beside one under the same load; beside two that have nothing to
    agree on, so that what two busy processes cost on this machine anyway can be told from what
    sharing costs; and beside one under half the load, as each of the two is.
    """
    with RedisServer() as redis, CoordinatorProcess(redis.url) as first, CoordinatorProcess(redis.url) as second:
        served = [
            serving("one", [first], "whole", 2 * CONNECTIONS, 2 * CONNECTIONS),
            serving("two", [first, second], "shared", 2 * CONNECTIONS, 2 * CONNECTIONS),
            apart(
                "two, a group each",
                serving("", [first], "a", CONNECTIONS, CONNECTIONS),
                serving("", [second], "b", CONNECTIONS, CONNECTIONS),
            ),
            serving("one, half the load", [first], "half", CONNECTIONS, CONNECTIONS),
        ]
        wall, cpu, both = rates(served, rounds, seconds, redis.pid)
    return {
        "per_second": medians(wall),
        "cpu_seconds_per_1000": medians({name: [1_000 / rate for rate in found] for name, found in cpu.items()}),
        "two_to_one_by_cpu": ratio(cpu, "one", "two"),
        "two_to_one_with_redis": ratio(both, "one", "two"),
        "two_to_two_with_a_group_each_by_cpu": ratio(cpu, "two, a group each", "two"),
        "two_to_one_with_half_the_load_by_cpu": ratio(cpu, "one, half the load", "two"),
    }


def apart(name: str, one: Served, other: Served) -> Served:
    """Both at once: their connections in turn, as `load` deals them out."""

    def in_turn(these: list[str], those: list[str]) -> list[str]:
        return [each for pair in zip(these, those, strict=True) for each in pair]

    return Served(
        name,
        one.urls + other.urls,
        one.pids + other.pids,
        in_turn(one.paths, other.paths),
        in_turn(one.bodies, other.bodies),
    )


def medians(found: Found) -> dict[str, dict[str, float]]:
    """Median and spread."""
    return {
        name: {"median": statistics.median(each), "least": min(each), "most": max(each)} for name, each in found.items()
    }


def ratio(found: Found, over: str, under: str) -> dict[str, float]:
    """Of one to the other, round by round."""
    each = [a / b for a, b in zip(found[over], found[under], strict=True)]
    return {"median": statistics.median(each), "least": min(each), "most": max(each)}


PARTS = ("reports", "batch", "streams", "replicas")
IF_NAMED = ("beside",)


def bench(part: str, chosen: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.coordinator.beside import bench_beside  # which takes its tools from here

    if part == "beside":
        return bench_beside(chosen.rounds, chosen.seconds, chosen.beside.resolve())
    if part == "streams":
        return bench_streams(chosen.rounds, chosen.seconds, chosen.subscribers)
    benches = {
        "reports": bench_reports,
        "batch": bench_batch,
        "replicas": bench_replicas,
    }
    return benches[part](chosen.rounds, chosen.seconds)


def rows(part: str, found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Return a row for each figure of a part."""
    for name, value in found.items():
        label = f"{part}, {name.replace('_', ' ')}"
        if not isinstance(value, dict):
            yield label, f"{value:,}"
        elif "median" not in value:
            yield from rows(label, value)
        else:
            form = ",.0f" if value["median"] >= 100 else ".2f"
            yield label, spread([value[each] for each in ("least", "median", "most")], form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"out of {', '.join(PARTS)} (default: these), {', '.join(IF_NAMED)}")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured, in turn (default 5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of load in each round (default 3)")
    parser.add_argument("--subscribers", type=int, default=1_000, help="of the streams (default 1,000)")
    parser.add_argument("--beside", type=Path, help="another checkout, for the part beside")
    chosen = parser.parse_args()
    unknown = [part for part in chosen.parts if part not in (*PARTS, *IF_NAMED)]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join((*PARTS, *IF_NAMED))}")
    if "beside" in chosen.parts and not (chosen.beside and (chosen.beside / "services/coordinator/src").is_dir()):
        parser.error("the part beside needs --beside CHECKOUT, the folder of another checkout")
    found = {part: bench(part, chosen) for part in chosen.parts or PARTS}
    figures = [row for part, of in found.items() for row in rows(part, of)]
    show("coordinator", markdown(COLUMNS, figures), found)


if __name__ == "__main__":
    main()
