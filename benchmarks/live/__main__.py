"""Measure how old records are when a live query gets them, in plain Spark and aligned, with
producers that are silent, lag, or commit rarely (`make bench-live`).

Two drivers, one of plain Spark and one aligned, read the same topics at the same time. With two
cores, each has about one, and other work on the machine slows both. In a case with a group, each
driver runs two queries, and the aligned ones share a coordinator.

A record is stamped with the time of its creation, less its producer's lag. Its age is the time from
its creation to the call of foreachBatch that returns it. Only records that arrive within --seconds
count, after every producer has shown its lag. The number of rows lost is exact: the query drops
late rows one by one, so a record that was read but did not arrive is lost.

The benchmark writes build/bench/live.json, live.md and, if Chromium is installed, live.png. All
cases take some 27 minutes. It fails in three cases:

* p50 or p99 of the partitions on time is more than 0.2 s above that of plain Spark. The lag of the
  most delayed partition beyond the drift is added to what is allowed.
* The partitions that the case is about wait, unless others are even further behind.
* A row is lost after the producers have shown their lag.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.live.account import Fed, Outcome, broken, outcome
from benchmarks.live.application import put
from benchmarks.live.feed import Feed, now_ms
from benchmarks.live.shapes import SHAPES, Case, cases
from benchmarks.live.table import chart, seconds, table
from benchmarks.skew.table import picture
from benchmarks.tables import show
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import Child

WAYS = ("native", "aligned")
DELAY_MS = 10_000  # of the watermark, and so the drift
READY_WITHIN_S = 300.0
WARM_UP = Case(SHAPES["all on time"])


class Drivers:
    """The two applications, which take one order after the other. `blank`: both are native, though
    one is called aligned.
    """

    def __init__(self, folder: Path, blank: bool = False) -> None:
        self.folders = {way: folder / way for way in WAYS}
        self._orders = 0
        self._children = {}
        for way, own in self.folders.items():
            own.mkdir()
            command = [sys.executable, "-m", "benchmarks.live.application", "native" if blank else way, str(own)]
            self._children[way] = Child(f"the {way} driver", command, own / "driver.log", {"PYTHONUNBUFFERED": "1"})

    @contextmanager
    def running(self, order: dict[str, Any], told: dict[str, Any]) -> Iterator[None]:
        """Both carry the order out within the `with`. Afterwards `told` has their output."""
        number, self._orders = self._orders, self._orders + 1
        for own in self.folders.values():
            put(own / f"{number}.order", order)
        for child in self._children.values():
            child.await_ready(lambda child=child: f"began {number}" in child.output(), READY_WITHIN_S)
        yield
        for own in self.folders.values():
            (own / f"{number}.stop").touch()
        for way, child in self._children.items():
            written = self.folders[way] / f"{number}.json"
            child.await_ready(written.exists, READY_WITHIN_S)
            told[way] = json.loads(written.read_text())

    def stop(self) -> None:
        """End both."""
        for child in self._children.values():
            child.kill()


def run(case: Case, drivers: Drivers, bootstrap: str, url: str | None, settle_s: float, measured_s: float) -> Outcome:
    """One case. `url`: of a coordinator."""
    run_id = f"live-{time.time_ns()}"
    feeds = {
        f"{run_id}-{n}": Feed(bootstrap, f"{run_id}-{n}", shape, case.payload) for n, shape in enumerate(case.topics)
    }
    order = {
        "bootstrap": bootstrap,
        "topics": list(feeds),
        "delay_ms": DELAY_MS,
        "trigger_ms": case.trigger_ms,
        "payload": case.payload,
        # else it is no longer than the delay by itself
        "options": {"max_drift": DELAY_MS} if case.group else {},
        "coordinator": {"url": url, "group": run_id} if case.group else None,
    }
    told: dict[str, Any] = {}
    with ExitStack() as stack:
        for feed in feeds.values():
            stack.enter_context(feed.running())
        stack.enter_context(drivers.running(order, told))
        time.sleep(settle_s)
        begins = now_ms()
        time.sleep(measured_s)
        span_ms = begins, now_ms()
    feds = {
        topic: Fed(feed.written, feed.live_from, [feed.shape.odd(partition) for partition in range(len(feed.written))])
        for topic, feed in feeds.items()
    }
    return outcome(case, feds, told, DELAY_MS, span_ms)


def line(of: Outcome) -> str:
    """Return the line that is printed for a case."""
    ways = (
        f"{way} {seconds(each.others.p50)} s, {seconds(each.others.p99)} s, lost {each.lost:,} of {each.rows:,}"
        for way, each in _ways(of)
    )
    return f"{of.case}: behind at p50 and p99 {'; '.join(ways)}; may be {of.may_wait_s:,.1f} s more"


def _ways(of: Outcome) -> Sequence[tuple[str, Any]]:
    return [(way, getattr(of, way)) for way in WAYS]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="bench-live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="that are measured of each case (default 60)")
    parser.add_argument("--settle", type=float, help="seconds before them (default: by shape, 20 to 65)")
    parser.add_argument(
        "--cases",
        nargs="+",
        metavar="WORDS",
        help='those only whose name has these words, such as "silent" or "in a group"',
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/bench"), help="folder to write to (default build/bench)"
    )
    parser.add_argument(
        "--blank",
        action="store_true",
        help="both drivers run plain Spark: how far apart two equal ones are on this machine",
    )
    parser.add_argument("--no-check", action="store_true", help="no error where a claim does not hold")
    chosen = parser.parse_args()
    wanted = [case for case in cases() if not chosen.cases or any(words in case.name for words in chosen.cases)]
    if not wanted:
        parser.error("--cases: there are\n  " + "\n  ".join(case.name for case in cases()))
    outcomes = []
    with (
        tempfile.TemporaryDirectory(prefix="lockgate-bench-") as folder,
        KafkaBroker() as broker,
        CoordinatorProcess() as coordinator,
    ):
        drivers = Drivers(Path(folder), chosen.blank)
        try:
            run(
                WARM_UP, drivers, broker.bootstrap, None, 5.0, 5.0
            )  # the first query of a JVM pays for loading and compiling code
            for n, case in enumerate(wanted, 1):
                settle_s = case.shape.settle_s if chosen.settle is None else chosen.settle
                outcomes.append(run(case, drivers, broker.bootstrap, coordinator.url, settle_s, chosen.seconds))
                print(f"{n} of {len(wanted)}, {line(outcomes[-1])}", flush=True)
        finally:
            drivers.stop()
    write(outcomes, chosen.out)
    for claim in (claims := broken(outcomes)):
        print(f"does not hold: {claim}", file=sys.stderr)
    return 1 if claims and not chosen.no_check else 0


def write(outcomes: Sequence[Outcome], out: Path) -> None:
    """Print the table, and write it with the figures and a picture."""
    show("live", table(outcomes), [asdict(each) for each in outcomes], out)
    if not picture(chart(outcomes), out / "live.png"):
        print("no Chromium on this machine: live.png is left out")


if __name__ == "__main__":
    sys.exit(main())
