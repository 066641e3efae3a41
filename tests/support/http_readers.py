"""Readers that a test drives over HTTP, one request at a time."""

from collections.abc import Mapping
from typing import Any

import httpx


class HttpReader:
    """A registered reader, `source/subtask`. `headers` has its token."""

    def __init__(
        self,
        url: str,
        group: str,
        source: str,
        subtask: int = 0,
        headers: Mapping[str, str] | None = None,
        **registration: Any,
    ) -> None:
        self._at = f"{url}/v1/groups/{group}/sources/{source}"
        self._subtask = subtask
        self._headers = dict(headers or {})
        body = {"subtask": subtask, **registration}
        answer = httpx.post(f"{self._at}/readers", json=body, headers=self._headers, timeout=60)
        self._epoch = answer.raise_for_status().json()["epoch"]

    def report(self, watermark: int, **more: Any) -> dict[str, Any]:
        """The event that answers a report of this watermark."""
        body = {"subtask": self._subtask, "epoch": self._epoch, "watermark": watermark, **more}
        answer = httpx.post(f"{self._at}/watermarks", json=body, headers=self._headers, timeout=60)
        found: dict[str, Any] = answer.raise_for_status().json()
        return found
