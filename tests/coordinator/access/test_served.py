"""Access to real processes: tokens that change, TLS, an end in order, and no secret in anything
that comes out.
"""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import trustme

from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.tokens import FILE, SECRETS, bearer

COMMAND = [sys.executable, "-m", "lockgate_cli"]


@dataclass
class Served:
    """A running service; `log` has all that it writes."""

    process: "subprocess.Popen[bytes]"
    url: str
    log: Path

    def said(self) -> list[str]:
        """Return the lines that it has written, but for the one that says where it listens."""
        return [line for line in self.log.read_text().splitlines() if "lockgate listens on" not in line]

    def ended(self) -> int:
        """Its exit code, soon after SIGTERM: within 5 seconds, where nothing else runs."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextmanager
def serving(folder: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    log = folder / f"log-{len(list(folder.iterdir()))}"
    command = [*COMMAND, "serve", "--port", "0", *options]
    with log.open("w") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})}
        )
    try:
        wait_for(lambda: "lockgate listens on " in log.read_text() or process.poll() is not None)
        said = re.search(r"lockgate listens on (\S+)", log.read_text())
        assert said is not None, log.read_text()
        yield Served(process, said[1].replace("0.0.0.0", "127.0.0.1"), log)
    finally:
        process.kill()
        process.wait()


def refused(*options: str, env: Mapping[str, str] | None = None) -> str:
    """Return the one line with which the command ends."""
    command = [*COMMAND, "serve", "--port", "0", *options]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env={**os.environ, **(env or {})}
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    return line


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[trustme.CA, Path]:
    """Return an authority, and the folder that has its `ca.pem` and a server's `cert.pem` and
    `key.pem`.
    """
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    return authority, tmp_path


def test_a_running_service_takes_a_changed_file_and_keeps_to_the_old_one_when_it_is_broken(
    file: Path, tmp_path: Path
) -> None:
    with serving(tmp_path, "--tokens", str(file)) as served:
        url = f"{served.url}/v1/groups"
        assert httpx.get(url, headers=bearer("reader"), timeout=60).status_code == 200
        file.write_text("[[token")
        wait_for(
            lambda: (
                httpx.get(url, headers=bearer("reader"), timeout=60)
                and "a fault of syntax at" in served.log.read_text()
            )
        )
        assert httpx.get(url, headers=bearer("reader"), timeout=60).status_code == 200
        file.write_text(FILE.replace("reader", "nobody", 1).partition("\n\n")[2])
        wait_for(lambda: httpx.get(url, headers=bearer("reader"), timeout=60).status_code == 401)
        assert httpx.get(url, headers=bearer("admin"), timeout=60).status_code == 200


def test_nothing_that_comes_out_holds_a_token(file: Path, tmp_path: Path) -> None:
    secret, bodies = SECRETS["admin"], list[str]()
    with serving(
        tmp_path, "--tokens", str(file), "--rate-limit", "5", env={"LOCKGATE_TOKENS": f"report={secret}-listed"}
    ) as served:
        for headers in (
            bearer("admin"),
            bearer("orders"),
            {"Authorization": f"Basic {secret}"},
            {"Authorization": f"Bearer {secret}x"},
        ):
            for method, path in (
                ("GET", "/v1/groups/g"),
                ("PUT", "/v1/groups/g"),
                ("GET", "/nowhere"),
                ("PATCH", "/v1/groups/%00"),
            ):
                answer = httpx.request(method, served.url + path, headers=headers, content=b"{", timeout=60)
                bodies += [answer.text, str(answer.headers)]
        file.write_text(FILE + f"\n[[token]]\nname = 'x'\nrole = '{secret}'")
        wait_for(
            lambda: (
                httpx.get(f"{served.url}/v1/groups", headers=bearer("admin"), timeout=60)
                and "keeping the previous tokens" in served.log.read_text()
            )
        )
        with httpx.Client(headers=bearer("admin"), timeout=60) as client:
            bodies += [client.get(f"{served.url}/v1/groups/g").text for _ in range(60)]
        assert served.ended() == 0
        bodies.append(served.log.read_text())
    assert any("too-many-requests" in body for body in bodies)
    assert [body for body in bodies if secret in body or secret.removeprefix("lockgate_") in body] == []


def test_bad_tokens_of_the_environment_end_the_start_without_being_repeated() -> None:
    line = refused(env={"LOCKGATE_TOKENS": "writer=lockgate_0123456789abcdef"})
    assert "LOCKGATE_TOKENS, entry 1" in line
    assert "0123456789abcdef" not in line


def test_a_bad_file_ends_the_start_by_its_name(file: Path) -> None:
    file.write_text("[[token]]\nname = 'a'")
    assert f"{file}: token 1 (a): role must be one of" in refused("--tokens", str(file))


def test_a_rate_needs_tokens_to_be_counted_by() -> None:
    assert "--rate-limit 5 applies to each token, and there are none" in refused("--rate-limit", "5")


def test_a_service_with_tokens_may_listen_on_any_host_and_warns_of_plain_http(file: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--tokens", str(file), "--host", "0.0.0.0") as served:
        assert httpx.get(f"{served.url}/v1/groups", timeout=60).status_code == 401
        plain, unknown = served.said()
        assert "plain http to 0.0.0.0" in plain
        assert "401 for 127.0.0.1" in unknown
    with serving(tmp_path, "--tokens", str(file)) as served:
        assert served.said() == []


def test_lockgate_token_makes_one_that_is_taken(tmp_path: Path) -> None:
    command = [*COMMAND, "token", "orders", "--role", "report", "--group", "orders*", "--group", "one"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    token, file = made.stderr.split()[-1], tmp_path / "made.toml"
    assert token not in made.stdout
    file.write_text(
        made.stdout
        + subprocess.run([*command[:4], "x", "--role", "read"], capture_output=True, text=True, check=True).stdout
    )
    with serving(tmp_path, "--tokens", str(file)) as served:
        statuses = [
            httpx.get(
                f"{served.url}/v1/groups/{group}", headers={"Authorization": f"Bearer {token}"}, timeout=60
            ).status_code
            for group in ("orders-1", "one", "two")
        ]
    assert statuses == [404, 404, 403]


def test_https_with_an_encrypted_key(certificate: tuple[trustme.CA, Path], tmp_path: Path) -> None:
    authority, folder = certificate
    locked = folder / "locked.pem"
    command = [
        "openssl",
        "pkcs8",
        "-topk8",
        "-v2",
        "aes256",
        "-passout",
        "pass:hunter2",
        "-in",
        str(folder / "key.pem"),
        "-out",
        str(locked),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=30)
    options = ("--ssl-certfile", str(folder / "cert.pem"), "--ssl-keyfile", str(locked))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serving(tmp_path, *options, env={"LOCKGATE_SSL_KEYFILE_PASSWORD": "hunter2"}) as served:
        assert served.url.startswith("https://")
        assert httpx.get(f"{served.url}/livez", verify=trusting, timeout=60).status_code == 200
        assert served.ended() == 0
    line = refused(*options, env={"LOCKGATE_SSL_KEYFILE_PASSWORD": "hunter3"})
    assert str(locked) in line
    assert "hunter" not in line
    assert "LOCKGATE_SSL_KEYFILE_PASSWORD" in refused(*options)


def test_a_service_with_authorities_accepts_only_clients_with_their_certificate(
    certificate: tuple[trustme.CA, Path], tmp_path: Path
) -> None:
    authority, folder = certificate
    options = [
        "--ssl-certfile",
        str(folder / "cert.pem"),
        "--ssl-keyfile",
        str(folder / "key.pem"),
        "--ssl-ca-certs",
        str(folder / "ca.pem"),
    ]
    stranger, known = ssl.create_default_context(), ssl.create_default_context()
    for context in (stranger, known):
        authority.configure_trust(context)
    authority.issue_cert("driver@example.org").configure_cert(known)
    with serving(tmp_path, *options) as served:
        assert httpx.get(f"{served.url}/livez", verify=known, timeout=60).status_code == 200
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{served.url}/livez", verify=stranger, timeout=60)


@pytest.mark.parametrize(
    "option",
    ["--ssl-certfile", *(pytest.param(each, marks=pytest.mark.long) for each in ("--ssl-keyfile", "--ssl-ca-certs"))],
)
def test_a_file_of_tls_that_is_missing_is_named_before_listening(
    certificate: tuple[trustme.CA, Path], option: str
) -> None:
    folder = certificate[1]
    files = {
        "--ssl-certfile": folder / "cert.pem",
        "--ssl-keyfile": folder / "key.pem",
        "--ssl-ca-certs": folder / "ca.pem",
    }
    files[option] = folder / "nowhere.pem"
    line = refused(*(word for name, file in files.items() for word in (name, str(file))))
    assert f"{option} {folder / 'nowhere.pem'} cannot be read: No such file" in line


def test_a_key_without_a_certificate_is_refused() -> None:
    assert "need --ssl-certfile" in refused("--ssl-keyfile", "key.pem")


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGINT])
def test_an_end_that_was_asked_for_is_no_failure_and_says_nothing(tmp_path: Path, number: signal.Signals) -> None:
    with serving(tmp_path) as served:
        served.process.send_signal(number)
        assert served.process.wait(20) == 0
        assert served.said() == []


def test_two_over_one_redis_end_in_order_with_long_polls_streams_and_half_requests(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    store = ("--store", redis_server.url)
    with serving(tmp_path, *store) as first, serving(tmp_path, *store) as second, ThreadPoolExecutor(4) as threads:
        polled = []
        for served in (first, second):
            httpx.put(f"{served.url}/v1/groups/g", json={}, timeout=60)
            poll = f"{served.url}/v1/groups/g/alignment?after={2**63 - 1}&wait_ms=60000"
            polled.append(threads.submit(httpx.get, poll, timeout=60))
            polled.append(threads.submit(httpx.get, f"{served.url}/v1/groups/g/alignment/events", timeout=60))
        with half_a_request(first.url), half_a_request(second.url):
            wait_for(lambda: all(connections(served) == 3 and subscribers(served) == 2 for served in (first, second)))
            assert [served.ended() for served in (first, second)] == [0, 0]
        assert [answer.result(60).status_code for answer in polled] == [204, 200] * 2


@contextmanager
def half_a_request(url: str) -> Iterator[None]:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-")
        yield


def subscribers(served: Served) -> int:
    """How many streams and long polls it has read and keeps waiting."""
    lines = httpx.get(f"{served.url}/metrics", timeout=60).text.splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("lockgate_subscribers")))


def connections(served: Served) -> int:
    """How many connections to its port the process has accepted, by its open descriptors."""
    port = f":{int(served.url.rpartition(':')[2]):04X} "
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    accepted = {row[9] for row in rows if f"{row[1]} ".endswith(port) and row[3] == "01"}
    open_ = {os.readlink(link) for link in Path(f"/proc/{served.process.pid}/fd").iterdir()}
    return sum(f"socket:[{inode}]" in open_ for inode in accepted)
