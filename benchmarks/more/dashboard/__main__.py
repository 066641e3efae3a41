"""What the dashboard weighs and costs: `python -m benchmarks.more.dashboard`.

* Bytes of all files, packed; first paint; the time until the page of a group with 5,000 splits
  shows them all.
* What open pages cost the service: its processor time with and without them, in turns, over the
  same reports; and what a report takes meanwhile.

Everything runs on this machine, the browser too: times include its share of the cores.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
from playwright.sync_api import Browser, Page

from benchmarks.more.dashboard.browser import browser
from benchmarks.more.dashboard.lively import Running, fleet, one, others, shop
from lockgate_coordinator.dashboard.pages import Pages
from lockgate_testbed.coordinator import CoordinatorProcess

PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30, help="of each turn with and without a page")
    options = parser.parse_args()
    with CoordinatorProcess() as coordinator, browser() as chromium:
        groups = [shop(coordinator.url), fleet(coordinator.url), one(coordinator.url), *others(coordinator.url)]
        with Running(*groups):
            print(f"files: {packed(coordinator.url):,} bytes packed")
            first, loaded = zip(*(times(chromium, coordinator.url) for _ in range(options.rounds)), strict=True)
            print(f"first paint: {spread(first)} ms")
            print(f"5,000 splits on the page: {spread(loaded)} ms after the address is entered")
        for name, group, path in (
            ("20 splits", shop(coordinator.url, "cost-20"), "cost-20"),
            ("5,000 splits", fleet(coordinator.url, "cost-5000"), "cost-5000"),
        ):
            with Running(group):
                cost(chromium, coordinator, name, path, options.rounds, options.seconds)


def packed(url: str) -> int:
    """Return the bytes of all files as a browser takes them."""
    return sum(int(httpx.get(url + path).headers["content-length"]) for path in Pages().paths)


def times(chromium: Browser, url: str) -> tuple[float, float]:
    """First paint, and until 5,000 splits are shown, of a browser that has never been here (ms)."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(f"{url}/#/groups/telemetry", wait_until="commit")
    page.get_by_role("group", name="Drift of 5,000 splits").wait_for()
    loaded = (time.perf_counter() - began) * 1000
    first = float(page.evaluate(PAINT))
    context.close()
    return first, loaded


def cost(
    chromium: Browser, coordinator: CoordinatorProcess, name: str, group: str, rounds: int, seconds: float
) -> None:
    """Measure turns with and without the group's page: processor time a second, the time of a
    report.
    """
    used: dict[bool, list[float]] = {True: [], False: []}
    took: dict[bool, list[float]] = {True: [], False: []}
    with probe(coordinator.url) as report:
        for number in range(2 * rounds):
            there = number % 2 == 0
            page = opened(chromium, coordinator.url, group) if there else None
            began, before = time.perf_counter(), cpu(coordinator.url)
            while time.perf_counter() - began < seconds:
                took[there].append(report())
                time.sleep(0.02)
            used[there].append((cpu(coordinator.url) - before) / (time.perf_counter() - began))
            if page is not None:
                page.context.close()
    more = 100 * (statistics.median(used[True]) - statistics.median(used[False]))
    with_page, without = (statistics.median(took[there]) for there in (True, False))
    print(
        f"a page of {name}: {more:.2f} % of a core ({', '.join(f'{100 * each:.1f}' for each in used[True])} with, "
        f"{', '.join(f'{100 * each:.1f}' for each in used[False])} without); a report {1000 * with_page:.2f} ms with, "
        f"{1000 * without:.2f} ms without, {100 * (with_page / without - 1):+.1f} %"
    )


@contextmanager
def probe(url: str) -> Iterator[Callable[[], float]]:
    """One more reader, in a group of its own, whose reports are timed."""
    with httpx.Client(base_url=url, timeout=60) as http:
        epoch = http.post("/v1/groups/probe/sources/p/readers", json={"subtask": 0}).json()["epoch"]
        mark = [0]

        def report() -> float:
            mark[0] += 1
            began = time.perf_counter()
            body = {"subtask": 0, "epoch": epoch, "watermark": mark[0]}
            http.post("/v1/groups/probe/sources/p/watermarks", json=body).raise_for_status()
            return time.perf_counter() - began

        yield report


def opened(chromium: Browser, url: str, group: str) -> Page:
    """Open the group's page, and wait until it shows its splits."""
    page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.goto(f"{url}/#/groups/{group}")
    page.get_by_role("group", name="Drift of").wait_for()
    return page


def cpu(url: str) -> float:
    """Processor seconds of the service so far."""
    for line in httpx.get(f"{url}/metrics", timeout=60).text.splitlines():
        if line.startswith("process_cpu_seconds_total "):
            return float(line.rpartition(" ")[2])
    raise LookupError("process_cpu_seconds_total")


def spread(values: tuple[float, ...]) -> str:
    """Return the median, the least and the most."""
    return f"{statistics.median(values):.0f} ({min(values):.0f}–{max(values):.0f})"


if __name__ == "__main__":
    main()
