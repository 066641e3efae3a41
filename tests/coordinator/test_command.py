"""`lockgate serve`: what it loads, shows, and refuses in a line before it listens (more refusals:
tests/mistakes/mistakes.txt).
"""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate_coordinator import commands, server
from lockgate_coordinator.limits import Limits
from lockgate_coordinator.settings import Settings
from lockgate_testbed.redis import Certificates
from support.lockgate_command import fault, said
from support.mutual import Authority


def test_only_serve_loads_the_web_framework_and_the_store() -> None:
    loaded = "import sys, lockgate_cli.__main__; print({'fastapi', 'uvicorn', 'redis'} & sys.modules.keys())"
    ended = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "set()\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--host ::", "--host :: can be reached by others"),
        ("--host 192.0.2.1", "--allow-unauthenticated"),
        ("--host example.org", "--host example.org can be reached by others"),
        ("--host 192.0.2.1 --allow-unauthenticated", "cannot listen on 192.0.2.1:8080"),
        ("--rate-limit 5", "--rate-limit 5 applies to each token, and there are none"),
        ("--ssl-keyfile key.pem", "need --ssl-certfile"),
    ],
)
def test_options_that_cannot_be_are_refused_in_a_line(words: str, told: str) -> None:
    assert told in fault("", "serve", *words.split())


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1:{port}" in fault("", "serve", "--port", str(port))


def test_bad_tokens_are_named_and_not_repeated(tmp_path: Path) -> None:
    line = fault("", "serve", LOCKGATE_TOKENS="writer=lockgate_0123456789abcdef")
    assert "LOCKGATE_TOKENS, entry 1" in line
    assert "0123456789abcdef" not in line
    file = tmp_path / "tokens.toml"
    file.write_text("[[token]]\nname = 'a'")
    assert f"{file}: token 1 (a): role must be one of" in fault("", "serve", "--tokens", str(file))


@pytest.mark.parametrize("option", ["--ssl-certfile", "--ssl-keyfile", "--ssl-ca-certs"])
def test_missing_file_of_tls_is_named(option: str, tmp_path: Path) -> None:
    made: Certificates = Authority(tmp_path / "known").for_redis()
    files = {"--ssl-certfile": made.certificate, "--ssl-keyfile": made.key, "--ssl-ca-certs": made.ca}
    files[option] = tmp_path / "nowhere.pem"
    line = fault("", "serve", *(word for name, file in files.items() for word in (name, str(file))))
    assert f"{option} {tmp_path / 'nowhere.pem'} cannot be read: No such file" in line


def test_help_names_the_options_with_their_defaults() -> None:
    assert "and each reader's state, lease and progress." in said("", "--help", width=200)
    shown = said("", "serve", "--help")
    for word in ("--host", "--port", "--store", "127.0.0.1", "8080", "memory://"):
        assert word in shown


def test_each_limit_is_set_by_its_option(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = list[Settings]()
    monkeypatch.setattr(server, "serve", lambda *given: taken.append(given[3]))
    monkeypatch.setattr(server, "run", lambda serving: None)
    monkeypatch.setattr(commands.logs, "install", lambda *form: None)
    commands.serve_command(max_partitions=1, max_readers=2, max_sources=3, max_attributes=4, max_groups=5)
    assert taken[0].limits == Limits(splits=1, readers=2, sources=3, attributes=4, groups=5)
