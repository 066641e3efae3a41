"""The sensor for Airflow and the call of the README, as their pages have them, without Airflow: it
waits in mode `reschedule`, where each poke is a call.
"""

import sys
from collections.abc import Callable
from datetime import datetime, timezone
from types import ModuleType
from typing import Any

import httpx
import pytest

from support.answers import wait_for
from support.code_of_pages import blocks
from support.http_readers import HttpReader
from support.imports import CHECKOUT

TEN = datetime(2026, 1, 1, 10, tzinfo=timezone.utc)
UNTIL = round(TEN.timestamp() * 1000)
TESTED = "tested by: tests/client/test_airflow_example.py"
SENSOR, CALL = (
    next(block.text for block in blocks(CHECKOUT / page) if block.comment == TESTED)
    for page in ("docs/operations.md", "clients/http/README.md")
)


@pytest.fixture
def checkout(url: str) -> HttpReader:
    """Return a reader of the group that both examples name, which is no longer new."""
    group = f"{url}/v1/groups/checkout"
    httpx.delete(group, timeout=60)
    httpx.put(group, json={"lease_ms": 100}, timeout=60).raise_for_status()
    reader = HttpReader(url, "checkout", "orders")
    reader.report(UNTIL - 60_000)

    def is_old() -> bool:
        found = httpx.get(group, timeout=60).json()
        return bool(found["now"] >= found["created_at"] + 100)

    wait_for(is_old)
    return reader


class Sensors(ModuleType):
    """The names of `airflow.sdk` that the example uses. The sensors' functions are by name."""

    def __init__(self) -> None:
        super().__init__("airflow.sdk")
        self.pokes: dict[str, Callable[..., object]] = {}
        self.settings: dict[str, Any] = {}
        self.task = self

    def sensor(self, **settings: Any) -> Callable[[Callable[..., object]], Callable[[], None]]:
        self.settings = settings

        def made(poke: Callable[..., object]) -> Callable[[], None]:
            self.pokes[poke.__name__] = poke
            return lambda: None

        return made

    def dag(self, **_: Any) -> Callable[[Callable[[], None]], Callable[[], None]]:
        return lambda function: function


def test_the_sensor_pokes_until_the_hour_is_complete(
    url: str, checkout: HttpReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    airflow = Sensors()
    monkeypatch.setitem(sys.modules, "airflow", ModuleType("airflow"))
    monkeypatch.setitem(sys.modules, "airflow.sdk", airflow)
    exec(SENSOR.replace("http://coordinator:8080", url), {})
    poke = airflow.pokes["complete"]

    assert airflow.settings["mode"] == "reschedule"
    assert poke(data_interval_end=TEN) is False
    checkout.report(UNTIL - 1)
    assert poke(data_interval_end=TEN) is True
    assert len([line for line in SENSOR.splitlines() if line]) <= 15


def test_the_call_of_the_readme_says_that_the_hour_is_complete(url: str, checkout: HttpReader) -> None:
    checkout.report(UNTIL)
    names: dict[str, object] = {}
    exec(CALL.replace("http://coordinator:8080", url), names)

    assert names["complete"] is True
