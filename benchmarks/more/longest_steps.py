"""The longest step of the event loop while one large or faulty request is answered: for so long no
other request is served (`python -m benchmarks.more.longest_steps`).

The service runs in this process, and a thread sends the requests: bodies of all kinds, and what a
source of 10,000 splits and 1,000 readers goes through. A probe in the event loop takes the
processor time of the service's thread between its turns; the longest one of each request is given,
as the median and the spread over the rounds. `--store` is where the groups are. Writes
build/bench/longest-steps.json.
"""

import argparse
import asyncio
import json
import logging
import os
import signal
import statistics
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import uvloop

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.split_codec import split_to_text
from lockgate_coordinator.server import serve
from lockgate_coordinator.store import open_store
from lockgate_testbed.process import free_ports

OUT = Path("build/bench/longest-steps.json")
GROUP = "/v1/groups/steps"
REPORT = f"{GROUP}/sources/a/watermarks"
CONFIG = {"update_interval_ms": 100, "lease_ms": 20_000}
MIB = 1 << 20
PROBE_S = 0.0005

Request = tuple[str, str, bytes]
"""Method, path and body."""


def requests(epoch: int) -> dict[str, Request]:
    """Return the requests, each by a name for people."""
    report = f'{{"subtask":0,"epoch":{epoch},"watermark":0,"splits":{{'
    valid = ",".join(f'"{n:x}":{{"watermark":{n},"state":"active"}}' for n in range(30_000))
    faulty = ",".join(f'"{n}":{{}}' for n in range(60_000))
    reports = '{"reports":[' + '{"a":1,"splits":{"":{},"b":{},"c":4}},' * 9_999 + "{}]}"
    return {
        "4 MiB of blanks": ("POST", f"{GROUP}/watermarks", b" " * (4 * MIB - 2) + b"{}"),
        "30,000 splits": ("POST", REPORT, f"{report}{valid}}}}}".encode()),
        "60,000 faulty splits": ("POST", REPORT, f"{report}{faulty}}}}}".encode()),
        "10,000 faulty reports": ("POST", f"{GROUP}/watermarks", reports.encode()),
        "a look at the source": ("GET", f"{GROUP}/sources/a", b""),
        "a scrape": ("GET", "/metrics", b""),
    }


class Probe:
    """Takes the processor time of the event loop's thread between its own turns."""

    def __init__(self) -> None:
        self.longest_s = 0.0

    async def run(self) -> None:
        """Goes on for ever."""
        before = time.thread_time()
        while True:
            await asyncio.sleep(PROBE_S)
            now = time.thread_time()
            self.longest_s, before = max(self.longest_s, now - before), now


class Asking:
    """Sends requests, and notes the longest step of each in ms, by its name."""

    def __init__(self, url: str, probe: Probe) -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.found: dict[str, list[float]] = {}
        self._probe = probe

    def ask(self, name: str, method: str, path: str, body: bytes = b"") -> Any:
        """Return the answer. An empty name is not noted."""
        self._probe.longest_s = 0.0
        answer = self.client.request(method, path, content=body, headers={"Content-Type": "application/json"})
        if name:
            self.found.setdefault(name, []).append(1_000 * self._probe.longest_s)
        is_json = answer.content and answer.headers["content-type"].startswith("application/json")
        return answer.json() if is_json else None

    def until_it_serves(self) -> None:
        until = time.monotonic() + 30
        while True:
            try:
                self.client.get("/livez").raise_for_status()
                return
            except httpx.HTTPError:
                if time.monotonic() > until:
                    raise


class Source:
    """One source of a round. Its readers are registered."""

    def __init__(self, asking: Asking, name: str, readers: int) -> None:
        self._asking = asking
        self.path = f"{GROUP}/sources/{name}"
        self.epochs = [self._register(subtask) for subtask in range(readers)]

    def exchange(self, name: str, subtask: int, **said: Any) -> Any:
        body = json.dumps({"epoch": self.epochs[subtask], "held": [], **said}).encode()
        return self._asking.ask(name, "POST", f"{self.path}/readers/{subtask}/splits", body)

    def begin_anew(self, subtask: int) -> None:
        self.epochs[subtask] = self._register(subtask)

    def _register(self, subtask: int) -> int:
        body = json.dumps({"subtask": subtask, "owner": "me"}).encode()
        return int(self._asking.ask("a registration", "POST", f"{self.path}/readers", body)["epoch"])


def listed(splits: int) -> list[str]:
    return [split_to_text(KafkaPartitionSplit("topic", number, 0)) for number in range(splits)]


def numbered(texts: Iterable[str], number: int) -> list[dict[str, Any]]:
    return [{"split": text, "assignment": number} for text in texts]


def exchanges(asking: Asking, name: str, splits: int, readers: int) -> None:
    """Run a source from its first list on, with an exchange of each kind."""
    source, texts = Source(asking, name, readers), listed(splits)
    time.sleep(source.exchange("", 0)["assigning_in_ms"] / 1_000)
    asking.ask("an operator's list", "PUT", f"{source.path}/splits", json.dumps({"splits": texts}).encode())
    added = source.exchange("all splits assigned", 0)["add_splits"]
    number = added[0]["assignment"]
    everything = numbered(texts, number)
    report = {"subtask": 0, "epoch": source.epochs[0], "watermark": 5}
    report["splits"] = {f"topic-{number}": {"watermark": 5, "state": "active"} for number in range(splits)}
    source.exchange("a snapshot with a report", 0, held=everything, report=report)
    for subtask in range(1, readers):
        source.exchange("a reader comes", subtask)
    source.exchange("most given back", 0, held=everything[:10], given_back=everything[10:])
    source.exchange("splits of others presented", 0, held=everything)
    source.exchange("splits of others taken", 0, held=numbered(texts, number + 1_000))
    asking.ask("a page of splits", "GET", f"{source.path}/splits?limit=1000")
    source.exchange("a SourceEvent", 0, source_events=[{"id": "a", "event": {"a": "x" * 4_000}}])
    source.begin_anew(0)
    source.exchange("a new epoch", 0, held=everything)
    source.exchange("a loss is shown", 0, seen=int(time.time() * 1_000) + 50_000)
    source.exchange("all finished", 0, finished=everything)
    path = f"{source.path}/readers/0?epoch={source.epochs[0]}"
    asking.ask("a reader leaves", "DELETE", path)


def asked(url: str, chosen: argparse.Namespace, probe: Probe) -> dict[str, list[float]]:
    """Milliseconds of the longest step of each request, round by round."""
    asking = Asking(url, probe)
    asking.until_it_serves()
    asking.ask("", "PUT", GROUP, json.dumps(CONFIG).encode())
    epoch = asking.ask("", "POST", f"{GROUP}/sources/a/readers", b'{"subtask":0}')["epoch"]
    for number in range(chosen.rounds):
        for name, request in requests(epoch).items():
            asking.ask(name, *request)
        exchanges(asking, f"s{number}", chosen.splits, chosen.readers)
    return asking.found


async def measured(chosen: argparse.Namespace) -> dict[str, list[float]]:
    """Serve, and ask from another thread."""
    (port,), probe, found = free_ports(1), Probe(), dict[str, list[float]]()
    probing = asyncio.get_running_loop().create_task(probe.run())

    def ask() -> None:
        try:
            found.update(asked(f"http://127.0.0.1:{port}", chosen, probe))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=ask, daemon=True).start()
    await serve("127.0.0.1", port, open_store(chosen.store))
    probing.cancel()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="how often each request is made (default 9)")
    parser.add_argument("--splits", type=int, default=10_000, help="of a source (default 10000)")
    parser.add_argument("--readers", type=int, default=1_000, help="of a source (default 1000)")
    parser.add_argument("--store", default="memory://", help="the address of the store (default memory://)")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    found = {
        name: {"median": statistics.median(each), "least": min(each), "most": max(each)}
        for name, each in uvloop.run(measured(chosen)).items()
    }
    for name, each in found.items():
        print(f"{name:28} {each['median']:6.1f} ms   {each['least']:.1f} to {each['most']:.1f}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
