"""Each change of state is written once, in the log of whichever replica made it."""

import asyncio
import json
import logging
import socket
from itertools import cycle

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from support.in_process import Service

# The interval is so long that no pause of all is taken for an outage.
CONFIG = {"lease_ms": 400, "update_interval_ms": 60_000, "max_drift_ms": 10}


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lockgate.changes")


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the changes that all coordinators have written, without their order."""
    lines = [vars(record)["fields"] for record in caplog.records if record.name == "lockgate.changes"]
    assert all(line["reason"] for line in lines)
    return sorted(" ".join(str(line[key]) for key in ("event", "source", "subtask") if key in line) for line in lines)


async def test_each_change_is_one_line_over_all_replicas(
    replicas: list[Service], caplog: pytest.LogCaptureFixture
) -> None:
    at, sources = cycle(replicas), "/v1/groups/g/sources"
    await next(at).http.put("/v1/groups/g", json=CONFIG)
    for source in ("dies", "lives"):
        await next(at).registers(source, owner=f"the {source}\none")
        await next(at).reports(source, 1_000)
    while "reader_lost dies 0" not in told(caplog):
        await next(at).reports("lives", 1_001)
    await next(at).http.put("/v1/groups/g", json={**CONFIG, "lease_ms": 60_000})
    await next(at).reports("dies", 1_002)
    await next(at).reports("dies", 1_002, idle=True)
    epoch = (await next(at).registers("dies", owner="the dies\none"))["epoch"]
    for path in (f"{sources}/dies/readers/0?epoch={epoch}", f"{sources}/lives/readers/0?force=true", "/v1/groups/g"):
        assert (await next(at).http.delete(path)).status_code == 204
    groups = ["group_created", "group_configured", "group_deleted"]
    dies = ["registered", "started", "lost", "returned", "idle", "fenced", "left"]
    lives = ["registered", "started", "evicted"]
    readers = [*(f"reader_{each} dies 0" for each in dies), *(f"reader_{each} lives 0" for each in lives)]
    assert told(caplog) == sorted([*groups, *readers])


async def test_changes_that_many_ask_for_at_once_are_told_once_each(
    replicas: list[Service], caplog: pytest.LogCaptureFixture
) -> None:
    async def lives(source: str) -> None:
        at = cycle(replicas)
        epoch = (await next(at).registers(source))["epoch"]
        await next(at).reports(source, 1_000)
        await next(at).reports(source, 1_001, idle=True)
        await next(at).http.delete(f"/v1/groups/g/sources/{source}/readers/0?epoch={epoch}")

    sources = [f"s{number}" for number in range(40)]
    await asyncio.gather(*(lives(source) for source in sources))
    events = ("reader_registered", "reader_started", "reader_idle", "reader_left")
    assert told(caplog) == sorted(["group_created", *(f"{event} {source} 0" for event in events for source in sources)])


def test_the_lines_at_the_start_and_those_of_uvicorn_are_json_too() -> None:
    with CoordinatorProcess(options=("--log-format", "json")) as coordinator:
        with socket.create_connection(("127.0.0.1", httpx.URL(coordinator.url).port or 0)) as hostile:
            hostile.sendall(b"this is not HTTP\r\n\r\n")
            assert hostile.recv(100)
        first, *more = [json.loads(line) for line in coordinator.log.read_text().split("\n")[:-1]]
        assert (first["level"], first["message"]) == ("info", f"lockgate listens on {coordinator.url}")
        assert [line["logger"] for line in more] == ["uvicorn.error"]
