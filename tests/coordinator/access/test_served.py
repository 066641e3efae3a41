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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.lockgate_command import fault, said
from support.mutual import Authority
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

    def ended(self, by: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code, soon after the signal: within 5 seconds, where nothing else runs."""
        self.process.send_signal(by)
        return self.process.wait(20)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Served]:
    log = folder / f"log-{len(list(folder.iterdir()))}"
    with log.open("w") as out:
        process = subprocess.Popen([*COMMAND, "serve", "--port", "0", *options], stdout=out, stderr=out)
    try:
        wait_for(lambda: "lockgate listens on " in log.read_text() or process.poll() is not None)
        said = re.search(r"lockgate listens on (\S+)", log.read_text())
        assert said is not None, log.read_text()
        yield Served(process, said[1].replace("0.0.0.0", "127.0.0.1"), log)
    finally:
        process.kill()
        process.wait()


def test_nothing_that_comes_out_holds_a_token(file: Path) -> None:
    secret, bodies = SECRETS["admin"], list[str]()
    options, env = ("--tokens", str(file), "--rate-limit", "5"), {"LOCKGATE_TOKENS": f"report={secret}-listed"}
    others = ({"Authorization": f"Basic {secret}"}, {"Authorization": f"Bearer {secret}x"})
    with (
        CoordinatorProcess(options=options, env=env) as served,
        httpx.Client(base_url=served.url, timeout=60, headers=bearer("admin")) as http,
    ):
        for headers in (bearer("admin"), bearer("orders"), *others):
            for asked in ("GET /v1/groups/g", "PUT /v1/groups/g", "GET /nowhere", "PATCH /v1/groups/%00"):
                answer = http.request(*asked.split(), headers=headers, content=b"{")
                bodies += [answer.text, str(answer.headers)]
        file.write_text(FILE + f"\n[[token]]\nname = 'x'\nrole = '{secret}'")
        wait_for(lambda: http.get("/v1/groups") and "keeping the previous tokens" in served.log.read_text())
        bodies += [http.get("/v1/groups/g").text for _ in range(60)]
        served.stop()
        bodies.append(served.log.read_text())
    assert any("too-many-requests" in body for body in bodies)
    assert [body for body in bodies if secret in body or secret.removeprefix("lockgate_") in body] == []


def test_service_with_tokens_on_any_host_warns_of_plain_http(file: Path, tmp_path: Path) -> None:
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
    file.write_text(made.stdout + said("", "token", "x", "--role", "read"))
    with CoordinatorProcess(options=("--tokens", str(file))) as served:
        paths = (f"{served.url}/v1/groups/{group}" for group in ("orders-1", "one", "two"))
        headers = {"Authorization": f"Bearer {token}"}
        assert [httpx.get(path, headers=headers, timeout=60).status_code for path in paths] == [404, 404, 403]


def test_https_with_an_encrypted_key(tmp_path: Path) -> None:
    known = Authority(tmp_path / "known")
    own, locked = known.issued("server", "127.0.0.1"), tmp_path / "locked.pem"
    encrypted = ["openssl", "pkcs8", "-topk8", "-v2", "aes256", "-passout", "pass:hunter2", "-in"]
    subprocess.run([*encrypted, str(own.key), "-out", str(locked)], check=True, capture_output=True, timeout=30)
    options = ("--ssl-certfile", str(own.certificate), "--ssl-keyfile", str(locked))
    with CoordinatorProcess(options=options, env={"LOCKGATE_SSL_KEYFILE_PASSWORD": "hunter2"}) as served:
        trusting = ssl.create_default_context(cafile=str(known.ca))
        assert httpx.get(f"{served.url}/livez", verify=trusting, timeout=60).status_code == 200
    line = fault("", "serve", *options, LOCKGATE_SSL_KEYFILE_PASSWORD="hunter3")
    assert str(locked) in line
    assert "hunter" not in line
    assert "LOCKGATE_SSL_KEYFILE_PASSWORD" in fault("", "serve", *options)


def test_end_by_ctrl_c_is_no_failure_and_says_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as served:
        assert served.ended(signal.SIGINT) == 0
        assert served.said() == []


def test_two_end_in_order_with_polls_streams_and_half_requests(redis_server: RedisServer, tmp_path: Path) -> None:
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
