"""A group over HTTP, through the proxy, as a client asks that tries again."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

CONFIG = {"max_drift_ms": 10, "update_interval_ms": 200, "lease_ms": 600_000, "catch_up": "strict"}
PASSING = {502, 503, 504}


class Group:
    """One group, created with `CONFIG`."""

    def __init__(self, url: str, name: str) -> None:
        self.path = f"/v1/groups/{name}"
        self.http = httpx.Client(base_url=url, timeout=httpx.Timeout(10, read=90))
        self.http.put(self.path, json=CONFIG).raise_for_status()

    def alignment(self, **query: int) -> httpx.Response:
        """The current event, or the next one."""
        return self.http.get(f"{self.path}/alignment", params=query)

    @contextmanager
    def events(self) -> Iterator[Iterator[str]]:
        """The lines of the event stream, each when it comes."""
        with self.http.stream("GET", f"{self.path}/alignment/events") as answer:
            assert answer.status_code == 200, answer.read()
            assert answer.headers["Content-Type"].startswith("text/event-stream")
            yield answer.iter_lines()


class Reader:
    """One reader of one source; registers at once."""

    def __init__(self, group: Group, source: str) -> None:
        self._group, self._path = group, f"{group.path}/sources/{source}"
        answer = group.http.post(f"{self._path}/readers", json={"subtask": 0}).raise_for_status()
        self.epoch = answer.json()["epoch"]

    def reports(self, watermark: int) -> httpx.Response:
        """Once."""
        body = {"subtask": 0, "epoch": self.epoch, "watermark": watermark}
        return self._group.http.post(f"{self._path}/watermarks", json=body)

    def reports_at_last(self, watermark: int, within_s: float = 30) -> dict[str, Any]:
        """Again until it is acknowledged; a client's whole patience is `within_s`."""
        give_up, never = time.monotonic() + within_s, threading.Event()
        while True:
            try:
                answer = self.reports(watermark)
            except httpx.TransportError:
                wait_s = 0.1
            else:
                if answer.status_code not in PASSING:
                    event: dict[str, Any] = answer.raise_for_status().json()
                    return event
                wait_s = float(answer.headers.get("Retry-After", 0.1))
            assert time.monotonic() + wait_s < give_up, f"not acknowledged within {within_s} s"
            never.wait(wait_s)


@dataclass
class Reporting:
    """A reader that goes on reporting one more each time, in a thread of its own."""

    reader: Reader
    acknowledged: int = 0
    longest_s: float = 0.0
    _ending: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def on(self) -> Iterator["Reporting"]:
        """Reports inside `with`."""
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(self._report)
            try:
                yield self
            finally:
                self._ending.set()
                running.result()

    def _report(self) -> None:
        while not self._ending.is_set():
            asked_at = time.monotonic()
            event = self.reader.reports_at_last(self.acknowledged + 1)
            self.longest_s = max(self.longest_s, time.monotonic() - asked_at)
            assert event["group_watermark"] == self.acknowledged + 1
            self.acknowledged += 1
