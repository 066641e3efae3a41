"""Real processes, and what they write: each change of state once, in the log of whoever made it."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for

CONFIG = {
    "lease_ms": 2_000,
    "update_interval_ms": 60_000,
    "max_drift_ms": 10,
}  # so that no pause of all is taken for an outage


def lines(*coordinators: CoordinatorProcess) -> list[dict[str, Any]]:
    """All that they have written, each line of it JSON; without one that is being written."""
    return [json.loads(line) for each in coordinators for line in each.log.read_text().split("\n")[:-1]]


def changes_of(group: str, *coordinators: CoordinatorProcess) -> list[dict[str, Any]]:
    """Return the lines of a group's changes."""
    return [line for line in lines(*coordinators) if line["logger"] == "lockgate.changes" and line["group"] == group]


def told(group: str, *coordinators: CoordinatorProcess) -> list[str]:
    """Return the changes of its state, without their order."""
    changes = changes_of(group, *coordinators)
    return sorted(" ".join(str(line[key]) for key in ("event", "source", "subtask") if key in line) for line in changes)


class Readers:
    """Readers that speak to one replica and then to the other."""

    def __init__(self, replicas: list[CoordinatorProcess], group: str) -> None:
        self._group = group
        self._clients = [httpx.Client(base_url=each.url, timeout=30) for each in replicas]
        self._epochs: dict[str, int] = {}

    def asks(self, method: str, path: str, **more: Any) -> httpx.Response:
        self._clients.reverse()
        answer = self._clients[0].request(method, f"/v1/groups/{self._group}{path}", **more)
        assert answer.is_success, answer.text
        return answer

    def registers(self, source: str, **more: Any) -> None:
        answer = self.asks("POST", f"/sources/{source}/readers", json={"subtask": 0, **more})
        self._epochs[source] = answer.json()["epoch"]

    def reports(self, source: str, watermark: int, **more: Any) -> None:
        body = {"subtask": 0, "epoch": self._epochs[source], "watermark": watermark, **more}
        self.asks("POST", f"/sources/{source}/watermarks", json=body)

    def leaves(self, source: str) -> None:
        self.asks("DELETE", f"/sources/{source}/readers/0", params={"epoch": self._epochs[source]})


def test_each_change_is_one_line_over_all_replicas(replicas: list[CoordinatorProcess], topic: str) -> None:
    readers, logs = Readers(replicas, topic), set(replicas)
    readers.asks("PUT", "", json=CONFIG)
    for source in ("dies", "lives"):
        readers.registers(source, owner=f"the {source}\none")
        readers.reports(source, 1_000)

    def lost() -> bool:
        readers.reports("lives", 1_001)
        return "reader_lost dies 0" in told(topic, *logs)

    wait_for(lost)
    readers.reports("dies", 1_002)
    readers.reports("dies", 1_002, idle=True)
    readers.registers("dies", owner="the dies\none")
    readers.asks("PUT", "", json={**CONFIG, "max_drift_ms": 20})
    readers.leaves("dies")
    readers.asks("DELETE", "/sources/lives/readers/0", params={"force": "true"})
    readers.asks("DELETE", "")
    expected = [
        "group_created",
        "reader_registered dies 0",
        "reader_registered lives 0",
        "reader_started dies 0",
        "reader_started lives 0",
    ]
    expected += [
        "reader_lost dies 0",
        "reader_returned dies 0",
        "reader_idle dies 0",
        "reader_fenced dies 0",
        "group_configured",
    ]
    expected += ["reader_left dies 0", "reader_evicted lives 0", "group_deleted"]
    assert told(topic, *logs) == sorted(expected)


def test_changes_that_many_ask_for_at_once_are_told_once_each(replicas: list[CoordinatorProcess], topic: str) -> None:
    def lives(source: str) -> None:
        reader = Readers(replicas, topic)
        reader.registers(source)
        reader.reports(source, 1_000)
        reader.reports(source, 1_001, idle=True)
        reader.leaves(source)

    Readers(replicas, topic).asks("PUT", "", json={**CONFIG, "lease_ms": 60_000})
    sources = [f"s{number}" for number in range(40)]
    with ThreadPoolExecutor(len(sources)) as threads:
        assert len(list(threads.map(lives, sources))) == len(sources)
    events = ("reader_registered", "reader_started", "reader_idle", "reader_left")
    assert told(topic, *set(replicas)) == sorted(
        ["group_created", *(f"{event} {source} 0" for event in events for source in sources)]
    )


def test_each_change_has_a_reason_and_a_loss_its_silence(replicas: list[CoordinatorProcess], topic: str) -> None:
    readers, logs = Readers(replicas, topic), set(replicas)
    readers.asks("PUT", "", json=CONFIG)
    readers.registers("a", owner="query")
    readers.reports("a", 1_000)

    def lost() -> bool:
        readers.asks("GET", "")
        return "reader_lost a 0" in told(topic, *logs)

    wait_for(lost)
    changes = changes_of(topic, *logs)
    assert all(line["reason"] for line in changes)
    (line,) = [line for line in changes if line["event"] == "reader_lost"]
    assert line["level"] == "warning"
    assert line["silent_ms"] >= CONFIG["lease_ms"]


def test_the_lines_at_the_start_and_those_of_uvicorn_are_json_too() -> None:
    with CoordinatorProcess(options=("--log-format", "json")) as coordinator:
        with socket.create_connection(("127.0.0.1", httpx.URL(coordinator.url).port or 0)) as hostile:
            hostile.sendall(b"this is not HTTP\r\n\r\n")
            assert hostile.recv(100)
        first, *more = lines(coordinator)
        assert (first["level"], first["message"]) == ("info", f"lockgate listens on {coordinator.url}")
        assert [line["logger"] for line in more] == ["uvicorn.error"]
