"""`lockgate serve`: what it prints, and what it refuses in one line."""

import os
import socket
import subprocess
import sys

import httpx
import pytest

COMMAND = [sys.executable, "-m", "lockgate_cli"]


def refused(*args: str) -> str:
    """Return the one line on standard error with which the command ends."""
    ended = subprocess.run([*COMMAND, "serve", *args], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    return line


def test_only_serve_loads_the_web_framework_and_the_store() -> None:
    loaded = "import sys, lockgate_cli.__main__; print({'fastapi', 'uvicorn', 'redis'} & sys.modules.keys())"
    ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "set()\n"


def test_port_0_takes_a_free_port_and_prints_its_url() -> None:
    with subprocess.Popen([*COMMAND, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said, _, url = process.stdout.readline().strip().rpartition(" ")
        try:
            assert said.endswith(" lockgate listens on")
            assert httpx.get(f"{url}/livez", timeout=60).status_code == 200
        finally:
            process.terminate()


@pytest.mark.parametrize(
    "host", ["0.0.0.0", *(pytest.param(each, marks=pytest.mark.long) for each in ("::", "192.0.2.1", "example.org"))]
)
def test_a_host_that_others_can_reach_must_be_allowed_by_name(host: str) -> None:
    line = refused("--host", host)
    assert host in line
    assert "--allow-unauthenticated" in line


def test_a_host_that_is_allowed_without_tokens_is_listened_on() -> None:
    assert "cannot listen on 192.0.2.1:8080" in refused("--host", "192.0.2.1", "--allow-unauthenticated")


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in refused("--port", str(port))


def test_a_redis_that_does_not_answer_is_named_at_the_start() -> None:
    line = refused("--port", "0", "--store", "redis://u:hunter2@127.0.0.1:1/0")
    assert "Redis at 127.0.0.1:1" in line
    assert "hunter2" not in line


def test_a_store_of_another_kind_is_refused_by_its_scheme() -> None:
    line = refused("--store", "etcd://u:hunter2@h")
    assert "redis://" in line
    assert "hunter2" not in line


def test_the_list_of_commands_has_no_broken_lines() -> None:
    wide = {**os.environ, "COLUMNS": "200"}
    command = [*COMMAND, "--help"]
    shown = subprocess.run(command, env=wide, capture_output=True, text=True, timeout=60, check=True).stdout
    assert "and each reader's state, lease and progress." in shown


@pytest.mark.parametrize("args", [(), ("serve",)])
def test_help_names_every_option_with_its_default(args: tuple[str, ...]) -> None:
    shown = subprocess.run([*COMMAND, *args, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    for word in ("--host", "--port", "--store", "127.0.0.1", "8080", "memory://") if args else ("serve",):
        assert word in shown
