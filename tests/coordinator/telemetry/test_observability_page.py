"""docs/monitoring.md names every metric, every event of the log and every step of the store, and
no metric that is not there.
"""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from lockgate_coordinator.telemetry.changes import Kind
from lockgate_coordinator.telemetry.journal import LINES_OF_ONE_COMMIT
from lockgate_coordinator.telemetry.logs import LONGEST_TEXT
from lockgate_coordinator.telemetry.observed import STEPS
from support.in_process import Service

PAGE = (Path(__file__).parents[3] / "docs" / "monitoring.md").read_text(encoding="utf-8")


async def test_every_metric_is_on_the_page_and_every_one_of_the_page_is_there() -> None:
    service = Service()
    await service.reports("a", 5, splits={"t-0": {"watermark": 5, "state": "active"}})
    exchange = {"epoch": service.epochs["g/a/0"], "held": []}
    await service.http.post("/v1/groups/g/sources/a/readers/0/splits", json=exchange)
    families = text_string_to_metric_families((await service.http.get("/metrics")).text)
    told = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    rows = "".join(line for line in PAGE.splitlines() if line.startswith("| `lockgate_"))
    named = set(re.findall(r"lockgate_[a-z_]+[a-z]", rows))
    assert {name for name in told if name.startswith("lockgate_")} == named


def test_every_event_and_every_step_of_the_store_is_on_the_page() -> None:
    for word in (*(kind.value for kind in Kind), *STEPS, "more_changes"):
        assert f"`{word}`" in PAGE, word


def test_the_limits_of_the_log_are_those_of_the_page() -> None:
    assert f"more than {LINES_OF_ONE_COMMIT} events, the coordinator logs the first {LINES_OF_ONE_COMMIT}" in PAGE
    assert f"cut at {LONGEST_TEXT} characters" in PAGE
