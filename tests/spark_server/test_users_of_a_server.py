"""Two users of one server, each with two sessions: queries of one group and of several, side by
side; and what Spark's UI shows of them.
"""

import json
from pathlib import Path

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.process import free_ports
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from lockgate_testbed.spark_connect import ConnectServer, client

pytestmark = pytest.mark.long

PROGRAM = Path(__file__).with_name("programs") / "one_user.py"
PATIENCE_S = 500.0
USERS = ("ann", "bob")
TOKEN = "lockgate_secret-0123456789abcdef"
GROUP = {
    "max_drift_ms": 6 * HOUR_MS,
    "catch_up": "strict",
    "lease_ms": 600_000,
    "expected_sources": [f"{user}_with_all" for user in USERS],
}


def test_two_users_of_a_server_share_a_group_and_show_no_token(
    server_jar: Path, kafka: KafkaBroker, skewed: SkewedTopic, tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    ui = {"spark.ui.enabled": "true", "spark.ui.port": str(port)}
    with CoordinatorProcess() as coordinator, ConnectServer(jars=[server_jar], conf=ui, cores=3) as server:
        httpx.put(f"{coordinator.url}/v1/groups/all", json=GROUP).raise_for_status()
        running = []
        for user in USERS:
            folder = tmp_path / user
            folder.mkdir()
            program = (PROGRAM, folder, kafka.bootstrap, skewed.name, coordinator.url, user, TOKEN)
            remote = {"SPARK_REMOTE": f"{server.url}/;user_id={user}"}
            running.append(client(user, folder / "log", *program, server=server, env=remote))
        found = [json.loads(each.wait(PATIENCE_S).splitlines()[-1]) for each in running]
        groups = {each["group"] for each in httpx.get(f"{coordinator.url}/v1/groups", timeout=60).json()["items"]}
        pages = shown(f"http://127.0.0.1:{port}")

    for one in found:
        assert one["rows"] == 2 * [sum(skewed.counts())]
        assert one["aligned"] == [True, True, False]
        assert one["keys in the other session"] == []
        assert one["queries that the other session sees"] == []
        assert "lockgate.coordinator.group" in one["explained"]
        assert TOKEN not in one["explained"]
    assert groups >= {"all", *USERS}
    assert "ann_with_all" in pages
    assert TOKEN not in pages


def shown(ui: str) -> str:
    """What the pages of Spark's UI and its API show."""
    application = httpx.get(f"{ui}/api/v1/applications", timeout=60).raise_for_status().json()[0]["id"]
    details = f"api/v1/applications/{application}/sql?details=true&planDescription=true&length=1000"
    pages = ("connect/", "SQL/", "StreamingQuery/", "environment/", details)
    return "\n".join(httpx.get(f"{ui}/{page}", timeout=60).raise_for_status().text for page in pages)
