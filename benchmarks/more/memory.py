"""What a tenant can fill the memory of a coordinator with, on memory:
`python -m benchmarks.more.memory`. Bytes of the process for a reader with all the
attributes that it may have, for a split of a report under the longest name, and for a split that
the coordinator assigns. Each kind is put into a process of its own. Linux only.

Then the sum for the limits that are given: groups × (readers × (attributes + splits) + sources ×
assigned splits). The defaults are those of the service.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import httpx

from lockgate.flink.splits import EARLIEST_OFFSET, KafkaPartitionSplit
from lockgate.wire.split_codec import split_to_text
from lockgate_coordinator.limits import Limits
from lockgate_testbed.coordinator import CoordinatorProcess

READERS, REPORTS, SOURCES, SPLITS = 2_000, 20, 20, 10_000
LONGEST = 255  # characters of a name
GROUP = "/v1/groups/g"

Filling = Callable[[httpx.Client], int]
"""Fills a group, and returns with how many."""


def main() -> None:
    """Run the benchmark from the command line."""
    defaults, options = Limits(), argparse.ArgumentParser(description=__doc__)
    for name in ("groups", "readers", "splits", "sources", "attributes"):
        options.add_argument(f"--max-{name}", type=int, default=getattr(defaults, name))
    given = options.parse_args()
    filling = {"a reader with all attributes": readers, "a split of a report": reported, "an assigned split": assigned}
    reader, split, own = (measured(what, fill) for what, fill in filling.items())
    reader *= given.max_attributes / defaults.attributes
    group = given.max_readers * (reader + given.max_splits * split) + given.max_sources * given.max_splits * own
    print(f"at most {size(group)} for a group, {size(given.max_groups * group)} for all groups")


def measured(what: str, fill: Filling) -> float:
    """Return the bytes that one of the filled-in things takes."""
    with CoordinatorProcess() as coordinator, httpx.Client(base_url=coordinator.url, timeout=120) as http:
        http.put(GROUP, json={"lease_ms": 3_600_000}).raise_for_status()
        before = resident(coordinator.pid)
        count = fill(http)
        each = (resident(coordinator.pid) - before) / count
    print(f"{what}: {each:,.0f} bytes, of {count:,}", flush=True)
    return each


def readers(http: httpx.Client) -> int:
    attributes = {"a": "x" * (Limits().attributes - 1)}
    for subtask in range(READERS):
        register(http, "a", subtask, attributes=attributes)
    return READERS


def reported(http: httpx.Client) -> int:
    for subtask in range(REPORTS):
        splits = {
            f"{subtask}-{number:0>{LONGEST - 3}}": {"watermark": number, "state": "active", "position": number}
            for number in range(SPLITS)
        }
        body = {"subtask": subtask, "epoch": register(http, "a", subtask), "watermark": 0, "splits": splits}
        http.post(f"{GROUP}/sources/a/watermarks", json=body).raise_for_status()
    return REPORTS * SPLITS


def assigned(http: httpx.Client) -> int:
    for source in range(SOURCES):
        splits = [split_to_text(KafkaPartitionSplit("x" * 249, number, EARLIEST_OFFSET)) for number in range(SPLITS)]
        http.put(f"{GROUP}/sources/{source}/splits", json={"splits": splits}).raise_for_status()
    return SOURCES * SPLITS


def register(http: httpx.Client, source: str, subtask: int, **more: object) -> int:
    answer = http.post(f"{GROUP}/sources/{source}/readers", json={"subtask": subtask, **more}).raise_for_status()
    epoch: int = answer.json()["epoch"]
    return epoch


def resident(pid: int | None) -> int:
    """Bytes of the process in memory."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


def size(count: float) -> str:
    """Bytes for people."""
    power = next((power for power in range(5) if count < 1_000 ** (power + 1)), 4)
    return f"{count / 1_000**power:,.1f} {('B', 'kB', 'MB', 'GB', 'TB')[power]}"


if __name__ == "__main__":
    main()
