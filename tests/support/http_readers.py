"""Readers that a test drives over HTTP, one request at a time."""

from collections.abc import Mapping
from typing import Any

import httpx


class HttpReader:
    """A registered reader, `source/subtask`. `headers` has its token. It keeps its connections."""

    def __init__(
        self,
        url: str,
        group: str,
        source: str,
        subtask: int = 0,
        headers: Mapping[str, str] | None = None,
        **registration: Any,
    ) -> None:
        self._url, self._path, self._subtask = url, f"/v1/groups/{group}/sources/{source}", subtask
        self._http = httpx.Client(headers=headers, timeout=60)
        answer = self._http.post(f"{url}{self._path}/readers", json={"subtask": subtask, **registration})
        self.epoch: int = answer.raise_for_status().json()["epoch"]

    def report(self, watermark: int, at: str = "", **more: Any) -> dict[str, Any]:
        """The event that answers a report of this watermark; `at`: to another coordinator."""
        body = {"subtask": self._subtask, "epoch": self.epoch, "watermark": watermark, **more}
        answer = self._http.post(f"{at or self._url}{self._path}/watermarks", json=body)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found


def subscribers(url: str) -> float:
    """Return how many event streams and long polls a coordinator has."""
    lines = httpx.get(f"{url}/metrics", timeout=60).text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("lockgate_subscribers"))
