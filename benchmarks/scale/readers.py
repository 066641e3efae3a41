"""The readers of part `http`, in a process of their own: `python readers.py < job.json`.

Each reader has one connection for reports and one for its event stream, as a process with one query
has, and all run on one uvloop. It prints its findings as JSON, and a line on stderr every second.
A reader's watermark is the clock less its lag. In the groups named `late-…` one reader is 20 s
behind the others, so its reports alone move the ceiling; in `live-…` nearly each report does.
"""

import asyncio
import json
import random
import sys
import time
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import uvloop

BEHIND_MS = 20_000


class Hearing:
    """The streams of one group at one process. The first of them is timed."""

    def __init__(self, findings: "Findings") -> None:
        self.findings, self.newest, self.heard_at = findings, 0, 0.0
        self.waiting: list[tuple[int, float, str]] = []

    def sent(self, revision: int, at: float, kind: str) -> None:
        """Note that a report sent at `at` has led to a revision."""
        if revision <= self.newest:
            self.findings.took(kind, max(0.0, self.heard_at - at))
        else:
            self.waiting.append((revision, at, kind))

    def heard(self, revision: int) -> None:
        if revision <= self.newest:
            return
        self.newest, self.heard_at = revision, time.perf_counter()
        for known, at, kind in self.waiting:
            if known <= revision:
                self.findings.took(kind, self.heard_at - at)
        self.waiting = [each for each in self.waiting if each[0] > revision]


class Findings:
    """Counts and durations (s) since `begin`."""

    def __init__(self) -> None:
        self.counts, self.seconds = Counter[str](), dict[str, list[float]]()
        self.counting = False

    def begin(self) -> None:
        self.counts.clear()
        self.seconds.clear()
        self.counting = True

    def took(self, kind: str, seconds: float) -> None:
        if self.counting:
            self.seconds.setdefault(kind, []).append(seconds)


class Group:
    """The newest revision that an answer had, and the streams at each process."""

    def __init__(self, name: str, processes: int, findings: Findings) -> None:
        self.name, self.newest = name, 0
        self.hearing = [Hearing(findings) for _ in range(processes)]

    def answered(self, process: int, revision: int, sent_at: float) -> None:
        if revision <= self.newest:
            return
        self.newest = revision
        for number, hearing in enumerate(self.hearing):
            where = "own" if number == process else "other"
            hearing.sent(revision, sent_at, f"{where} process, {self.name.partition('-')[0]}")


class Reports(asyncio.Protocol):
    """The connection over which one reader reports, one request after the other."""

    def __init__(self) -> None:
        self.received, self.answer = b"", asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, blank, body = self.received.partition(b"\r\n\r\n")
        if blank and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            self.received = b""
            self.answer.set_result((head[9:12], body))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_result((b"cut", b""))

    async def post(self, path: str, body: str) -> tuple[bytes, bytes]:
        """Return the status and the body of the answer."""
        self.answer = asyncio.get_running_loop().create_future()
        head = f"POST {path} HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self.transport.write(f"{head}\r\n\r\n{body}".encode())
        found: tuple[bytes, bytes] = await self.answer
        return found


class Stream(asyncio.Protocol):
    """An event stream, timed if it has a `hearing`."""

    def __init__(self, findings: Findings, hearing: Hearing | None) -> None:
        self.findings, self.hearing = findings, hearing

    def data_received(self, data: bytes) -> None:
        events = data.count(b"event: alignment")
        self.findings.counts["events"] += events
        if events and self.hearing is not None:
            self.hearing.heard(int(data.rpartition(b"\nid: ")[2].partition(b"\n")[0]))

    def connection_lost(self, error: Exception | None) -> None:
        self.findings.counts["streams cut"] += 1


class Reader:
    """One reader, which reports to its process every `interval_s`."""

    def __init__(self, job: dict[str, Any], number: int, group: Group, findings: Findings) -> None:
        self.job, self.group, self.findings = job, group, findings
        self.process = number // len(job["groups"]) % len(job["urls"])
        self.subtask = number // len(job["groups"])
        self.chance = random.Random(number)
        behind = group.name.startswith("late") and self.subtask == 0
        self.lag_ms = self.chance.randrange(500) + (BEHIND_MS if behind else 0)
        self.timed = self.subtask // len(job["urls"]) == 0

    async def connected(self, protocol: Any) -> Any:
        address = urlsplit(self.job["urls"][self.process])
        return await asyncio.get_running_loop().create_connection(protocol, address.hostname, address.port)

    async def begin(self) -> None:
        """Register, report once, and open the stream."""
        _, self.reports = await self.connected(Reports)
        path = f"/v1/groups/{self.group.name}/sources/s"
        status, body = b"", b""
        while status != b"201":  # the store may need more than its 2 s while all begin at once
            status, body = await self.reports.post(f"{path}/readers", f'{{"subtask":{self.subtask}}}')
            if status == b"cut":
                _, self.reports = await self.connected(Reports)
        self.path, self.epoch = f"{path}/watermarks", json.loads(body)["epoch"]
        await self.report()
        hearing = self.group.hearing[self.process] if self.timed else None
        stream, _ = await self.connected(lambda: Stream(self.findings, hearing))
        stream.write(f"GET /v1/groups/{self.group.name}/alignment/events HTTP/1.1\r\nHost: c\r\n\r\n".encode())

    async def report(self) -> None:
        watermark = int(time.time() * 1_000) - self.lag_ms
        splits = ",".join(
            f'"t-{n}":{{"watermark":{watermark + n},"state":"active"}}' for n in range(self.job["partitions"])
        )
        said = f'"subtask":{self.subtask},"epoch":{self.epoch},"watermark":{watermark},"reach":{watermark + 1_000}'
        sent_at = time.perf_counter()
        status, body = await self.reports.post(self.path, f'{{{said},"splits":{{{splits}}}}}')
        if status != b"200":
            self.findings.counts[f"answers {status.decode()}"] += 1
            if status == b"cut":
                _, self.reports = await self.connected(Reports)
            return
        self.findings.counts["reports"] += 1
        self.findings.took("report", time.perf_counter() - sent_at)
        self.group.answered(self.process, int(body.partition(b'"revision":')[2].partition(b",")[0]), sent_at)

    async def run(self) -> None:
        """Report in each interval. One that the report before has not left time for is skipped."""
        loop = asyncio.get_running_loop()
        interval_s = self.job["interval_s"]
        due = loop.time() + self.chance.random() * interval_s
        while True:
            await asyncio.sleep(due - loop.time())
            await self.report()
            due += interval_s
            while due < loop.time():
                due += interval_s
                self.findings.counts["intervals skipped"] += 1


async def driven(job: dict[str, Any]) -> dict[str, Any]:
    findings = Findings()
    groups = [Group(name, len(job["urls"]), findings) for name in job["groups"]]
    readers = [Reader(job, n, groups[n % len(groups)], findings) for n in range(job["readers"])]
    for first in range(0, len(readers), 20):
        await asyncio.gather(*(reader.begin() for reader in readers[first : first + 20]))
    tasks = [asyncio.create_task(reader.run()) for reader in readers]
    await asyncio.sleep(job["warm_s"])
    findings.begin()
    began, used = time.perf_counter(), time.process_time()
    for second in range(job["seconds"]):
        await asyncio.sleep(max(0.0, began + second + 1 - time.perf_counter()))
        print("second", second + 1, file=sys.stderr, flush=True)
    seconds, used = time.perf_counter() - began, time.process_time() - used
    findings.counting = False
    for task in tasks:
        if task.done():
            task.result()
    silent = [len(hearing.waiting) for group in groups for hearing in group.hearing]
    return {
        "seconds": seconds,
        "cores_of_the_readers": used / seconds,
        "counts": findings.counts,
        "unheard": sum(silent),
        "latencies": {kind: quantiles(found) for kind, found in findings.seconds.items()},
    }


def quantiles(found: list[float]) -> dict[str, float]:
    """Return how many there are, and their percentiles in ms."""
    ordered = sorted(found)
    at = {f"p{p:g}": 1_000 * ordered[min(len(ordered) - 1, int(len(ordered) * p / 100))] for p in (50, 90, 99, 99.9)}
    return {"count": len(ordered), **at, "most": 1_000 * ordered[-1]}


if __name__ == "__main__":
    uvloop.install()
    print(json.dumps(asyncio.run(driven(json.load(sys.stdin)))))
