"""What adds up adds up over all replicas."""

import re
import time

import httpx

from lockgate_testbed.coordinator import CoordinatorProcess

GROUP = "/v1/groups/g"
CONFIG = {"max_drift_ms": 10, "catch_up": "strict"}


def paused_s(replica: httpx.Client) -> float:
    """Of the source `fast`, as this replica has it."""
    found = re.search(
        r'lockgate_source_waiting_seconds_total\{group="g",source="fast"\} (\S+)', replica.get("/metrics").text
    )
    return float(found[1]) if found else 0.0


def test_each_moment_of_a_pause_is_counted_by_one_replica(replicas: list[CoordinatorProcess]) -> None:
    clients = [httpx.Client(base_url=each.url, timeout=30) for each in replicas]

    def reports(source: str, watermark: int) -> tuple[float, float]:
        """When it was sent and when it was answered, by this process's clock."""
        clients.reverse()
        sent = time.monotonic()
        body = {"subtask": 0, "epoch": epochs[source], "watermark": watermark}
        assert clients[0].post(f"{GROUP}/sources/{source}/watermarks", json=body).status_code == 200
        return sent, time.monotonic()

    path, first = f"{GROUP}/sources/{{}}/readers", {"subtask": 0, "config": CONFIG}
    epochs = {source: clients[0].post(path.format(source), json=first).json()["epoch"] for source in ("slow", "fast")}
    reports("slow", 1_000)
    begun, held = reports("fast", 9_000)
    sent = held
    while sent < held + 1:
        sent, last = reports("fast", 9_000)
    in_all = sum(paused_s(client) for client in {str(client.base_url): client for client in clients}.values())
    assert 0.9 < sent - held - 0.1 <= in_all <= last - begun + 0.1
