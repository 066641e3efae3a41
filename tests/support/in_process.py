"""The service in this process, without a socket, at a time that a test sets; its readers, and what
it shows.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore, Store

T0 = 1_767_225_600_000
"""2026-01-01: the store's time in ms, unless a test moves it."""
CONFIG = {"lease_ms": 30_000, "max_drift_ms": 10, "catch_up": "strict"}


def client_of(app: Any, **more: Any) -> httpx.AsyncClient:
    """Return a client of this application; a fault of it is an answer 500."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, **{"base_url": "http://coordinator", **more})


class Readers:
    """Readers that speak to a coordinator through `http`. `config`: of each group that they bring
    along. `epochs`: shared by readers that speak to several coordinators.
    """

    def __init__(
        self, http: httpx.AsyncClient, config: Mapping[str, Any] = CONFIG, epochs: dict[str, int] | None = None
    ) -> None:
        self.http = http
        self.config = {**CONFIG, **config}
        self.epochs = {} if epochs is None else epochs

    async def registers(self, source: str, group: str = "g", subtask: int = 0, **more: Any) -> dict[str, Any]:
        """Return the answer to a registration, whose epoch is higher than the one before."""
        readers = f"/v1/groups/{group}/sources/{source}/readers"
        answer = await self.http.post(readers, json={"subtask": subtask, "config": self.config, **more})
        said: dict[str, Any] = answer.raise_for_status().json()
        assert said["epoch"] > self.epochs.get(f"{group}/{source}/{subtask}", 0)
        self.epochs[f"{group}/{source}/{subtask}"] = said["epoch"]
        return said

    def report(self, source: str, watermark: int, group: str = "g", subtask: int = 0, **more: Any) -> dict[str, Any]:
        """Return the body of a report."""
        epoch = self.epochs[f"{group}/{source}/{subtask}"]
        return {"subtask": subtask, "epoch": epoch, "watermark": watermark, **more}

    async def answers(self, source: str, watermark: int, group: str = "g", **more: Any) -> httpx.Response:
        """Return the answer to a report."""
        body = self.report(source, watermark, group, **more)
        return await self.http.post(f"/v1/groups/{group}/sources/{source}/watermarks", json=body)

    async def reports(self, source: str, watermark: int, group: str = "g", **more: Any) -> dict[str, Any]:
        """Return the event that answers a report, before which a new reader registers."""
        if f"{group}/{source}/{more.get('subtask', 0)}" not in self.epochs:
            await self.registers(source, group, more.get("subtask", 0))
        event: dict[str, Any] = (await self.answers(source, watermark, group, **more)).raise_for_status().json()
        return event

    async def shows(self, path: str = "", group: str = "g") -> dict[str, Any]:
        """Return what a look at the group, or at a path below it, is answered."""
        found: dict[str, Any] = (await self.http.get(f"/v1/groups/{group}{path}")).raise_for_status().json()
        return found


class Service(Readers):
    """One coordinator, and its readers. `now_ms`: the time of its store, if that is in memory."""

    def __init__(
        self,
        settings: Settings = Settings(),  # noqa: B008 – frozen
        store: Store | None = None,
        config: Mapping[str, Any] = CONFIG,
        epochs: dict[str, int] | None = None,
    ) -> None:
        self.now_ms = T0
        self.app = create_app(MemoryStore(lambda: self.now_ms) if store is None else store, settings)
        super().__init__(client_of(self.app, timeout=30), config, epochs)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Service"]:
        """Yield the service with all that it does by itself."""
        async with self.app.router.lifespan_context(self.app), self.http:
            yield self

    async def reports(
        self, source: str, watermark: int, group: str = "g", later_ms: int = 0, **more: Any
    ) -> dict[str, Any]:
        """Let the time go on before the report."""
        self.now_ms += later_ms
        return await super().reports(source, watermark, group, **more)

    async def scrape(self) -> dict[str, float]:
        """Return each series of /metrics, as `name{label=value}` without `lockgate_`."""
        return {
            _named(sample.name, sample.labels): sample.value
            for each in text_string_to_metric_families((await self.http.get("/metrics")).text)
            for sample in each.samples
        }


def _named(name: str, labels: dict[str, str]) -> str:
    told = ",".join(f"{key}={value}" for key, value in labels.items())
    return name.removeprefix("lockgate_") + (f"{{{told}}}" if told else "")
