"""The log of a coordinator in trouble, and what a proxy sees of one that is about to stop."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.children import doing_first
from support.tokens import FILE, bearer


@pytest.fixture
def redis() -> Iterator[RedisServer]:
    """One of its own: these tests stop it and set it up."""
    with RedisServer() as server:
        yield server


def lines(process: CoordinatorProcess, *words: str) -> list[str]:
    """Return the lines of the log with all these words."""
    return [line for line in process.log.read_text().splitlines() if all(word in line for word in words)]


@pytest.mark.redis
def test_a_redis_that_goes_and_comes_back_is_in_the_log_once_each(redis: RedisServer) -> None:
    with CoordinatorProcess(redis.url) as process:
        group = f"{process.url}/v1/groups/g"
        httpx.put(group, json={}, timeout=60).raise_for_status()
        redis.stop()
        assert [httpx.get(group, timeout=60).status_code for _ in range(5)] == [503] * 5
        assert len(lines(process, "the store does not answer, so requests get 503")) == 1
        redis.start()
        wait_for(lambda: httpx.get(f"{process.url}/readyz", timeout=60).status_code == 200, 30)
        (back,) = lines(process, "answers again after")
        assert "operations failed" in back


@pytest.mark.redis
def test_eviction_policy_is_warned_of_until_it_is_safe(redis: RedisServer, tmp_path: Path) -> None:
    often = "from lockgate_coordinator import dangers\ndangers.LOOKS_EVERY_S = 0.1"
    with CoordinatorProcess(redis.url, env=doing_first(tmp_path, often)) as process:
        for policy, said in (
            ("allkeys-lru", "(maxmemory-policy allkeys-lru)"),
            ("noeviction", "resolved: Redis may delete groups"),
            ("allkeys-random", "(maxmemory-policy allkeys-random)"),
        ):
            with Redis.from_url(redis.url) as client:
                client.config_set("maxmemory-policy", policy)
            wait_for(partial(lines, process, said), 30)
        assert len(lines(process, "Redis may delete groups")) == 3


def test_bad_tokens_are_logged_with_address_and_without_token(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(FILE)
    hurry = "from lockgate_coordinator import turned_away\nturned_away.SUMMED_UP_S = 5"
    with CoordinatorProcess(options=["--tokens", str(file)], env=doing_first(tmp_path, hurry)) as process:
        with httpx.Client(base_url=process.url, timeout=60) as http:
            for n in range(50):
                guess = {"Authorization": f"Bearer guess-{n}"}
                assert http.get("/v1/groups", headers=guess).status_code == 401
            assert http.get("/v1/groups", headers=bearer("reader")).status_code == 200
        wait_for(lambda: bool(lines(process, "more requests in", "127.0.0.1")), 30)
        said = lines(process, "401 for")
        assert len(said) < 10
        assert "127.0.0.1" in said[0]
        assert "guess" not in process.log.read_text()


def test_file_descriptors_that_are_used_up_are_in_the_log(tmp_path: Path) -> None:
    few = (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "import lockgate_coordinator.dangers as dangers\ndangers.LOOKS_EVERY_S = 0.1"
    )
    with CoordinatorProcess(env=doing_first(tmp_path, few)) as process, ExitStack() as open_:
        host, port = process.url.removeprefix("http://").split(":")
        for _ in range(60):
            open_.enter_context(socket.create_connection((host, int(port))))
        wait_for(lambda: bool(lines(process, "file descriptors are in use: new connections wait or fail")), 30)
        open_.close()
        wait_for(lambda: bool(lines(process, "resolved: nearly all of")), 30)


def test_readyz_says_no_before_the_listener_closes(tmp_path: Path) -> None:
    patient = "import lockgate_coordinator.server as server\nserver.DRAIN_S = 600"
    with CoordinatorProcess(env=doing_first(tmp_path, patient)) as process:
        assert httpx.get(f"{process.url}/readyz", timeout=60).status_code == 200
        assert process.pid is not None
        os.kill(process.pid, signal.SIGTERM)
        wait_for(lambda: httpx.get(f"{process.url}/readyz", timeout=60).status_code == 503, 20)
        answer = httpx.get(f"{process.url}/readyz", timeout=60)
        assert answer.json()["type"] == "urn:lockgate:stopping"
        assert httpx.put(f"{process.url}/v1/groups/g", json={}, timeout=60).status_code == 201, "requests are served"
        assert httpx.get(f"{process.url}/livez", timeout=60).status_code == 200
        os.kill(process.pid, signal.SIGTERM)  # a second one does not wait
        wait_for(lambda: process.pid is None, 20)
