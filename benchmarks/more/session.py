"""Measure what a query's membership of a group costs its driver and the coordinator: processor time
and requests a second, by the number of splits (`make bench-session`).

The membership runs in this process, as in a Spark driver; the coordinator, on memory, in another.
For `--seconds`, the query does one of three things: it plans ten times a second, and each plan
reads records (`reads`); it waits for its group while only the ends of its logs move (`waits`); or
it is in one long batch. Processor time is given in percent of one core, without the time that it
takes to make up the reports. The update interval is the default, 1 s.
"""

import argparse
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from benchmarks.tables import markdown, show
from lockgate.wire.events import CatchUp, SplitReport, SplitState
from lockgate_http.config import Coordinator
from lockgate_http.group.agreement import Agreement
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from lockgate_http.group.source_status import SourceStatus
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.progress import progress_bar

COLUMNS = ("partitions", "the query", "driver", "coordinator", "requests/s", "kB/s", "per plan")
T0 = 1_767_225_600_000
PLANS_A_SECOND = 10
KINDS = ("reads", "waits", "in a batch")


class Counting(httpx.AsyncHTTPTransport):
    """Counts requests and the bytes of their bodies."""

    def __init__(self) -> None:
        super().__init__()
        self.requests, self.bytes = 0, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        self.bytes += int(request.headers.get("content-length", 0))
        return await super().handle_async_request(request)


def standings(splits: int, position: int, end: int) -> dict[int, SourceStatus]:
    """One source whose splits are at `position`, their logs ending at `end`."""
    watermark = T0 + position * 1_000
    report = SplitReport(watermark=watermark, state=SplitState.ACTIVE, position=position, end=end)
    return {0: SourceStatus(watermark, None, {f"topic-{i}": report for i in range(splits)})}


def plans(kind: str, splits: int) -> Iterator[dict[int, SourceStatus]]:
    """Return the reports of one plan after the other."""
    for i in range(1, 1_000_000):
        yield standings(splits, i if kind == "reads" else 1, 1_000_000 + i)


def cpu_s(pid: int) -> float:
    """Processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(url: str, pid: int, kind: str, splits: int, seconds: float) -> dict[str, float]:
    """One case: percent of a core and requests a second."""
    transport = Counting()
    coordinator = Coordinator(url, group=f"{kind.replace(' ', '-')}-{splits}", timeout="30 seconds")
    agreement = Agreement(coordinator.group, 300_000, False, 0, CatchUp.JOINT)
    membership = Membership(GroupSession(coordinator, transport), coordinator, agreement, "bench", "bench", "1")
    made = plans(kind, splits)
    membership.exchange(next(made))
    spent_s, ahead = 0.0, [next(made) for _ in range(int(seconds * PLANS_A_SECOND))] if kind != "in a batch" else []
    own, theirs, sent, size, began = own_cpu_s(), cpu_s(pid), transport.requests, transport.bytes, time.monotonic()
    count = 0
    while (left := began + seconds - time.monotonic()) > 0:
        if kind != "in a batch" and count < len(ahead):
            at = time.perf_counter()
            membership.exchange(ahead[count])
            spent_s += time.perf_counter() - at
        count += 1
        time.sleep(max(0.0, min(left, began + (count + 1) / PLANS_A_SECOND - time.monotonic())))
    took = time.monotonic() - began
    found = {
        "client_cpu_percent": 100 * (own_cpu_s() - own) / took,
        "coordinator_cpu_percent": 100 * (cpu_s(pid) - theirs) / took,
        "requests_per_second": (transport.requests - sent) / took,
        "kilobytes_per_second": (transport.bytes - size) / took / 1000,
        "exchange_ms": 1000 * spent_s / max(1, count),
    }
    membership.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each case (default 20)")
    parser.add_argument("--splits", type=int, nargs="+", default=[10, 1_000, 5_000], help="default 10 1000 5000")
    chosen = parser.parse_args()
    cases = [(splits, kind) for splits in chosen.splits for kind in KINDS]
    rows, found = [], {}
    with CoordinatorProcess() as coordinator, progress_bar("seconds", int(len(cases) * chosen.seconds)) as told:
        assert coordinator.pid is not None
        for i, (splits, kind) in enumerate(cases):
            found[f"{kind} {splits}"] = measure(coordinator.url, coordinator.pid, kind, splits, chosen.seconds)
            rows.append((f"{splits:,}", *row(kind, found[f"{kind} {splits}"])))
            told(int((i + 1) * chosen.seconds))
    show("session", markdown(COLUMNS, rows), found)


def row(kind: str, case: dict[str, float]) -> tuple[str, ...]:
    """Return the cells of one case."""
    return (
        kind,
        f"{case['client_cpu_percent']:.1f} %",
        f"{case['coordinator_cpu_percent']:.1f} %",
        f"{case['requests_per_second']:.1f}",
        f"{case['kilobytes_per_second']:,.0f}",
        f"{case['exchange_ms']:.1f} ms" if kind != "in a batch" else "–",
    )


if __name__ == "__main__":
    main()
