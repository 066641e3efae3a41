"""The longest step of the event loop while one large or faulty request is answered: for so long no
other request is served (`python benchmarks/coordinator/bench_longest_steps.py`).

The service runs in this process, and a thread sends the requests. A probe in the event loop takes
the processor time of the service's thread between its turns; the longest one of each request is
given, as the median and the spread over the rounds. Writes build/bench/longest-steps.json.
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
from pathlib import Path

import httpx
import uvloop

from lockgate_coordinator.server import serve
from lockgate_coordinator.store import open_store
from lockgate_testbed.process import free_ports

OUT = Path("build/bench/longest-steps.json")
GROUP = "/v1/groups/steps"
REPORT = f"{GROUP}/sources/a/watermarks"
MIB = 1 << 20
PROBE_S = 0.0005

Request = tuple[str, str, bytes]
"""Method, path and body."""


def requests(epoch: int) -> dict[str, Request]:
    """The requests, each by a name for people."""
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


def asked(url: str, rounds: int, probe: Probe) -> dict[str, list[float]]:
    """Milliseconds of the longest step of each request, round by round."""
    found: dict[str, list[float]] = {}
    with httpx.Client(base_url=url, timeout=60) as client:
        until = time.monotonic() + 30
        while True:
            try:
                client.get("/livez").raise_for_status()
                break
            except httpx.HTTPError:
                if time.monotonic() > until:
                    raise
        client.put(GROUP, json={}).raise_for_status()
        epoch = client.post(f"{GROUP}/sources/a/readers", json={"subtask": 0}).json()["epoch"]
        for _ in range(rounds):
            for name, (method, path, body) in requests(epoch).items():
                probe.longest_s = 0.0
                client.request(method, path, content=body, headers={"Content-Type": "application/json"})
                found.setdefault(name, []).append(1_000 * probe.longest_s)
    return found


async def measured(rounds: int) -> dict[str, list[float]]:
    """Serves, and asks from another thread."""
    (port,), probe, found = free_ports(1), Probe(), dict[str, list[float]]()
    probing = asyncio.get_running_loop().create_task(probe.run())

    def ask() -> None:
        try:
            found.update(asked(f"http://127.0.0.1:{port}", rounds, probe))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=ask, daemon=True).start()
    await serve("127.0.0.1", port, open_store("memory://"))
    probing.cancel()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="how often each request is made (default 9)")
    chosen = parser.parse_args()
    logging.disable(logging.CRITICAL)
    found = {
        name: {"median": statistics.median(each), "least": min(each), "most": max(each)}
        for name, each in uvloop.run(measured(chosen.rounds)).items()
    }
    for name, each in found.items():
        print(f"{name:24} {each['median']:6.1f} ms   {each['least']:.1f} to {each['most']:.1f}")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
