"""What is secret stays out of what is logged, counted and traced."""

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for

TOKEN, PASSWORD = "open-sesame-and-close-it", "hunter2-and-more"


@pytest.mark.redis
@pytest.mark.parametrize("form", ["json", "text"])
def test_no_token_or_redis_password_is_logged_when_all_goes_wrong(redis_server: RedisServer, form: str) -> None:
    assert redis_server.pid, "whether there is any is the shared one's matter"
    env = {"LOCKGATE_TOKENS": f"admin={TOKEN}"}
    options = ("--log-format", form, "--log-level", "debug")
    with RedisServer(options=("--requirepass", PASSWORD)) as redis:
        address = redis.url.replace("redis://", f"redis://:{PASSWORD}@")
        with CoordinatorProcess(address, options=options, env=env) as coordinator:
            http = httpx.Client(base_url=coordinator.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=30)
            assert http.post("/v1/groups/g/sources/a/readers", json={"subtask": 0, "owner": "q"}).status_code == 201
            assert http.get("/v1/groups", headers={"Authorization": f"Bearer {TOKEN}x"}).status_code == 401
            assert http.get(f"/v1/groups/{TOKEN}").status_code == 404
            redis.stop()
            assert http.get("/v1/groups").status_code == 503
            metrics = http.get("/metrics").text
            assert "lockgate_store_up 0.0" in metrics
            assert 'lockgate_store_errors_total{operation="names"} 2.0' in metrics
            wait_for(lambda: "reader registered" in coordinator.log.read_text())
            told = metrics + coordinator.log.read_text()
    assert TOKEN not in told
    assert PASSWORD not in told
