"""Looks at a group again and again, from before it is there, beside whatever a test does."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

BETWEEN_S = 0.2
COUNTING = ("active", "lost")
"""Who holds a group with a watermark, where lost readers do."""


class Seen(NamedTuple):
    """One reader at one look; event times in ms."""

    watermark: int
    drift_ms: int | None


class Looking:
    """`looks` has for each look where each source's one reader was, if it counted; `holders` who
    held the group at some look.
    """

    def __init__(self, url: str, group: str) -> None:
        self.looks: list[dict[str, Seen]] = []
        self.holders: set[str] = set()
        self._path, self._url = f"/v1/groups/{group}", url
        self._ending = threading.Event()

    @contextmanager
    def on(self) -> Iterator["Looking"]:
        """Looks inside `with`."""
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(self._look)
            try:
                yield self
            finally:
                self._ending.set()
                running.result()

    def beyond(self, watermarks: Mapping[str, int]) -> bool:
        """Whether each of these sources is above its watermark now."""
        last = self.looks[-1]
        return all(source in last and last[source].watermark > watermark for source, watermark in watermarks.items())

    def first(self, source: str) -> int:
        """The watermark of a source that has read nothing yet: the lowest that was seen."""
        return min(look[source].watermark for look in self.looks if source in look)

    def _look(self) -> None:
        with httpx.Client(base_url=self._url) as http:
            while not self._ending.wait(BETWEEN_S):
                try:
                    answer = http.get(self._path)
                except httpx.TransportError:
                    continue  # the stack is not up yet, or not any more
                if answer.status_code == 200:
                    self._keep(answer.json())

    def _keep(self, found: dict[str, Any]) -> None:
        counting = [
            (of["source"], reader) for of in found["sources"] for reader in of["readers"] if reader["state"] in COUNTING
        ]
        self.looks.append({source: Seen(reader["watermark"], reader["drift_ms"]) for source, reader in counting})
        self.holders |= {holder["source"] for holder in found["alignment"]["blocked_by"]}
