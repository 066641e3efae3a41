"""The ceilings that the coordinator announced, as an observer received them: the other half of the
account of ceilings.
"""

import bisect
import json
import threading

import httpx


class Announced:
    """The ceilings of a group in the order in which they were made, from the stream of its
    events.
    """

    def __init__(self, url: str, group: str) -> None:
        self._revisions: list[int] = []
        self._highest: list[int] = []
        self._url = f"{url}/v1/groups/{group}/alignment/events"
        self._client = httpx.Client(timeout=None)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def highest_until(self, time_s: float) -> int | None:
        """Return the highest ceiling (ms) made up to a wall clock in seconds; None before the
        first. A revision is its time in ms.
        """
        known = bisect.bisect_right(self._revisions, time_s * 1000)
        return self._highest[known - 1] if known else None

    def close(self) -> None:
        """Hear no more."""
        self._client.close()
        self._listener.join(5)

    def _listen(self) -> None:
        try:
            with self._client.stream("GET", self._url) as answer:
                for line in answer.iter_lines():
                    if line.startswith("data:"):
                        event = json.loads(line[5:])
                        self._revisions.append(event["revision"])
                        self._highest.append(max([event["max_desired_watermark"], *self._highest[-1:]]))
        except (httpx.HTTPError, OSError, RuntimeError):
            return  # closed: the run is over
