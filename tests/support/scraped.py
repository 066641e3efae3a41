"""A service whose metrics are read as Prometheus reads them, at a time that the test sets."""

from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

CONFIG = {"lease_ms": 30_000, "max_drift_ms": 10, "catch_up": "strict"}
Series = dict[str, float]


class Clock:
    """The store's time in ms."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


class Service:
    """A client of the service in this process, its store's clock, and what it tells at /metrics."""

    def __init__(self, http: httpx.AsyncClient, clock: Clock) -> None:
        self.http = http
        self.clock = clock
        self._epochs: dict[tuple[str, str], int] = {}

    async def starts(self, source: str, watermark: int, group: str = "g", **more: Any) -> None:
        answer = await self.http.post(
            f"/v1/groups/{group}/sources/{source}/readers", json={"subtask": 0, "config": CONFIG}
        )
        self._epochs[group, source] = answer.json()["epoch"]
        await self.reports(source, watermark, group, **more)

    async def reports(self, source: str, watermark: int, group: str = "g", later_ms: int = 0, **more: Any) -> None:
        self.clock.now_ms += later_ms
        answer = await self.http.post(
            f"/v1/groups/{group}/sources/{source}/watermarks", json=self.report(source, watermark, group, **more)
        )
        assert answer.status_code == 200, answer.text

    def report(self, source: str, watermark: int, group: str = "g", **more: Any) -> dict[str, Any]:
        return {"subtask": 0, "epoch": self._epochs[group, source], "watermark": watermark, **more}

    async def scrape(self) -> Series:
        """Each series, as `name{label="value"}`, with its value."""
        text = (await self.http.get("/metrics")).text
        return {
            _named(sample.name, sample.labels): sample.value
            for each in text_string_to_metric_families(text)
            for sample in each.samples
        }


def _named(name: str, labels: dict[str, str]) -> str:
    told = ",".join(f"{key}={value}" for key, value in labels.items())
    return name.removeprefix("lockgate_") + (f"{{{told}}}" if told else "")
