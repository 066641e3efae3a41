"""Backup and restore of a Redis by its own means, as docs/operations.md says: the groups with their
configurations and readers are back, and numbers go on rising.
"""

import shutil
from pathlib import Path

import httpx
import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer

pytestmark = pytest.mark.redis

GROUP = "/v1/groups/g"
READERS = f"{GROUP}/sources/orders/readers"
RDB = ("--save", "", "--appendonly", "no")
AOF = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


@pytest.mark.parametrize(("options", "kept"), [(RDB, "dump.rdb"), (AOF, "appendonlydir")], ids=["rdb", "aof"])
def test_a_copy_of_redis_s_files_brings_the_groups_back(options: tuple[str, ...], kept: str, tmp_path: Path) -> None:
    with RedisServer(tmp_path / "first", options) as redis, CoordinatorProcess(redis.url) as coordinator:
        with httpx.Client(base_url=coordinator.url, timeout=60) as http:
            http.put(GROUP, json={"max_drift_ms": 7, "catch_up": "strict", "lease_ms": 600_000}).raise_for_status()
            epoch = http.post(READERS, json={"subtask": 0, "owner": "me"}).json()["epoch"]
            report = {"subtask": 0, "epoch": epoch, "watermark": 50}
            before = http.post(f"{GROUP}/sources/orders/watermarks", json=report).raise_for_status().json()
            config = http.get(GROUP).json()["config"]
        if kept == "dump.rdb":
            with Redis(port=redis.port) as client:
                client.save()
        saved = tmp_path / "backup" / kept
        saved.parent.mkdir()
        (shutil.copytree if saved.suffix == "" else shutil.copy)(redis.data / kept, saved)
    (tmp_path / "second").mkdir()
    (shutil.copytree if saved.suffix == "" else shutil.copy)(saved, tmp_path / "second" / kept)
    with (
        RedisServer(tmp_path / "second", options) as redis,
        CoordinatorProcess(redis.url) as coordinator,
        httpx.Client(base_url=coordinator.url, timeout=60) as http,
    ):
        assert http.get(GROUP).json()["config"] == config
        after = http.post(f"{GROUP}/sources/orders/watermarks", json={**report, "watermark": 60}).json()
        assert (before["max_desired_watermark"], after["max_desired_watermark"]) == (57, 67)
        assert after["revision"] > before["revision"]
        assert http.post(READERS, json={"subtask": 0, "owner": "me"}).json()["epoch"] > epoch
