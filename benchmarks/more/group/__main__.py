"""Measure how fast 2 and 8 queries of one group read a day of backlog: without a group, with the
strict read limit, and with the joint one (`make bench-group`).

It uses a real Kafka, a coordinator process and real Spark. Two queries run in processes of their
own, eight in one. Topics differ in density, and sinks in speed: a sink accepts so many records a
second. The rate is that of the slowest query, in hours of event time per minute, from the start of
all queries until it has finished, or over the first --limit seconds.

A plan counts as above the limit if its batch has read records above the read limit that its reader
had received last, or above all that the coordinator had announced by then.

The benchmark writes build/bench/group.json, group.md, group.html and, if Chromium is installed,
group.png. It fails if a plan was above the limit, and warns if `joint` is slow, as on a busy
machine: below 0.9 of the rate of 2 queries without a group, or 0.85 of that of 8.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from benchmarks.more.group.account import Outcome, outcome
from benchmarks.more.group.announced import Announced
from benchmarks.more.group.fleet import Reading, fleet
from benchmarks.more.group.table import chart, ratios, table
from benchmarks.skew.table import picture
from benchmarks.tables import show
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import Child
from lockgate_testbed.progress import progress_bar
from lockgate_testbed.skew import SkewedTopic

WAYS = ("unaligned", "strict", "joint")
WARM_UP = SkewedTopic("warm-up", weights=(1.0, 1.0), records=3_000)
AT_LEAST = {2: 0.9, 8: 0.85}
"""Of its own rate without a group the slowest query keeps so much in a joint one, by the number of
queries.
"""

READY_WITHIN_S = 240.0
ENDS_WITHIN_S = 60.0


def run(way: str, readings: Sequence[Reading], bootstrap: str, url: str, chosen: argparse.Namespace) -> Outcome:
    """One run of all queries."""
    size, group = len(readings), f"bench-{len(readings)}-{way}-{time.time_ns()}"
    listener = None
    if way != "unaligned":
        _create(url, group, way, readings, chosen.max_drift_s)
        listener = Announced(url, group)
    coordinator = None if way == "unaligned" else {"url": url, "group": group, "catch_up": way}
    applications = [[reading] for reading in readings] if size == 2 else [readings]
    with tempfile.TemporaryDirectory(prefix="lockgate-bench-") as folder:
        orders = []
        for n, part in enumerate(applications):
            order = {
                "name": f"bench-group {way} {n}",
                "bootstrap": bootstrap,
                "queries": [
                    {"name": r.name, "topic": r.name, "budget": r.budget, "per_second": r.per_second} for r in part
                ],
                "coordinator": coordinator,
                "max_drift": f"{chosen.max_drift_s} seconds",
                "warm_up": WARM_UP.name,
                "go": f"{folder}/go",
                "limit_s": chosen.limit,
                "out": f"{folder}/{n}.json",
                "checkpoints": f"{folder}/checkpoints-{n}",
            }
            Path(folder, f"{n}.order").write_text(json.dumps(order))
            orders.append(order)
        told = _play(Path(folder), orders, f"{size} queries, {way}", chosen.limit)
    result = outcome(size, way, readings, told, listener.highest_until if listener else None)
    if listener:
        listener.close()
    return result


def _create(url: str, group: str, way: str, readings: Sequence[Reading], max_drift_s: int) -> None:
    """As an operator would: the group names its expected sources, so that all start at once."""
    config = {
        "max_drift_ms": 1000 * max_drift_s,
        "catch_up": way,
        "expected_sources": [reading.name for reading in readings],
    }
    httpx.put(f"{url}/v1/groups/{group}", json=config).raise_for_status()


def _play(folder: Path, orders: Sequence[dict[str, Any]], title: str, limit_s: float) -> dict[str, Any]:
    """Start the applications, let them go together, and read what they wrote."""
    children = []
    try:
        for n in range(len(orders)):
            command = [sys.executable, "-m", "benchmarks.more.group.application", str(folder / f"{n}.order")]
            children.append(Child(f"application {n}", command, folder / f"{n}.log", {"PYTHONUNBUFFERED": "1"}))
        for child in children:
            child.await_ready(lambda child=child: "ready" in child.output(), READY_WITHIN_S)
        (folder / "go").touch()
        began = time.monotonic()
        with progress_bar(f"{title}: seconds, of {limit_s:g} at most", int(limit_s)) as progress:
            for n, child in enumerate(children):

                def written(n: int = n) -> bool:
                    progress(min(int(limit_s), int(time.monotonic() - began)))
                    return (folder / f"{n}.json").exists()

                child.await_ready(written, limit_s + ENDS_WITHIN_S)
    finally:
        for child in children:
            child.stop()
    told: dict[str, Any] = {}
    for n in range(len(orders)):
        told |= json.loads((folder / f"{n}.json").read_text())
    return told


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench-group", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=600_000, help="records of the densest topic (default 600,000)")
    parser.add_argument(
        "--seconds", type=float, default=90.0, help="that the slowest sink needs for its topic (default 90)"
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[2, 8], choices=[2, 8], help="numbers of queries (default 2 8)"
    )
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS, help="kinds of ceiling (default: all)")
    parser.add_argument("--rounds", type=int, default=1, help="how often each way is run, in turn (default 1)")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds a run at most (default 150)")
    parser.add_argument("--max-drift-s", type=int, default=30, help="max_drift in seconds (default 30)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/bench"), help="folder to write to (default build/bench)"
    )
    chosen = parser.parse_args()
    outcomes = []
    with KafkaBroker(heap="1g") as broker, CoordinatorProcess() as coordinator:
        topics.load(broker.bootstrap, WARM_UP)
        for size in chosen.sizes:
            readings = fleet(size, chosen.records, chosen.seconds)
            for reading in readings:
                with progress_bar(f"loading {reading.name}", reading.topic.records) as progress:
                    topics.load(broker.bootstrap, reading.topic, progress)
            for turn in range(chosen.rounds):
                for way in chosen.ways if turn % 2 == 0 else reversed(chosen.ways):
                    outcomes.append(run(way, readings, broker.bootstrap, coordinator.url, chosen))
                    print(_line(outcomes[-1]), flush=True)
    write(outcomes, chosen)
    for (size, way), ratio in ratios(outcomes).items():
        if way == "joint" and ratio < AT_LEAST[size]:
            print(
                f"{size} queries, joint: {ratio:.2f} of the rate without a group, less than {AT_LEAST[size]}",
                file=sys.stderr,
            )
    return 1 if any(each.way != "unaligned" and each.above_told + each.above_announced for each in outcomes) else 0


def _line(each: Outcome) -> str:
    slowest = each.slowest
    return (
        f"{each.size} queries, {each.way}: {slowest.rate:.2f} h of event time a minute"
        f" ({slowest.name}: {slowest.hours:.1f} h in {slowest.seconds:.1f} s), {60 * each.peak_drift_hours:.1f} "
        "min apart at most,"
        f" {each.above_told} plans above the ceiling told, {each.above_announced} above any announced, of "
        f"{each.planned}"
    )


def write(outcomes: list[Outcome], chosen: argparse.Namespace) -> None:
    """Print the table, and write it with the figures and the plot as a page and a picture."""
    show("group", table(outcomes), [asdict(each) for each in outcomes], chosen.out)
    figure = chart(outcomes, f"{chosen.max_drift_s} s")
    (chosen.out / "group.html").write_text(figure.to_html(include_plotlyjs=True), encoding="utf-8")
    if not picture(figure, chosen.out / "group.png"):
        print("no Chromium on this machine: group.png is left out")


if __name__ == "__main__":
    sys.exit(main())
