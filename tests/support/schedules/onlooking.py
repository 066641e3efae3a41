"""An onlooker of a group: what the coordinator announces to all, by the group's event stream."""

import json
import threading
from collections.abc import Mapping
from types import TracebackType

import httpx

AGAIN_S = 0.05
SILENT_S = 30.0  # the stream has a sign of life every 15 s


class Onlooker:
    """Follows the stream of a group. `seen`: the ceiling (ms) of each revision that came."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.seen: dict[int, int] = {}
        self._url, self._headers, self._end = url, headers, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Onlooker":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                self._follow()
            except (httpx.HTTPError, OSError):
                self._end.wait(AGAIN_S)  # the coordinator is away

    def _follow(self) -> None:
        with httpx.stream("GET", self._url, headers=self._headers, timeout=SILENT_S) as answer:
            answer.raise_for_status()
            for line in answer.iter_lines():
                if self._end.is_set():
                    return
                if line.startswith("data:"):
                    event = json.loads(line[5:])
                    self.seen[int(event["revision"])] = int(event["max_desired_watermark"])
