"""The client and a real coordinator behind TLS: which CA is trusted, what a wrong one is told as,
and what the files must be.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trustme
import uvicorn

from lockgate.wire.events import ReaderRegistrationEvent
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore
from lockgate_http.calls.client import CoordinatorClient, Unreachable, Untrusted
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError
from support.answers import Answer, serving, wait_for
from support.hostile import silent, speaking

TOKEN = "s3cret-t0ken"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def ca(authority: trustme.CA, tmp_path: Path) -> str:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@contextmanager
def coordinator(authority: trustme.CA, folder: Path, name: str) -> Iterator[int]:
    """The port of a coordinator on uvicorn with a certificate for `name`."""
    issued, file = authority.issue_cert(name), folder / "server.pem"
    issued.private_key_and_cert_chain_pem.write_to_path(str(file))
    config = uvicorn.Config(create_app(MemoryStore()), ssl_certfile=str(file), ssl_keyfile=str(file), log_config=None)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        wait_for(lambda: server.started)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(10)


def client(url: str, ca: str | None = None, timeout: str = "1 minute") -> CoordinatorClient:
    return CoordinatorClient(Coordinator(url, group="g", ca=ca, token=TOKEN, timeout=timeout))


def test_a_coordinator_whose_ca_is_given_is_trusted(authority: trustme.CA, tmp_path: Path, ca: str) -> None:
    with coordinator(authority, tmp_path, "localhost") as port, client(f"https://localhost:{port}", ca) as one:
        assert one.register("orders", ReaderRegistrationEvent(subtask=0)).epoch > 0


@pytest.mark.parametrize("url", ["https://localhost:{}", "https://127.0.0.1:{}"])
def test_a_certificate_of_another_ca_is_told_in_words(authority: trustme.CA, tmp_path: Path, url: str) -> None:
    with (
        coordinator(authority, tmp_path, "localhost") as port,
        client(url.format(port)) as one,
        pytest.raises(
            Untrusted,
            match=(
                r"certificate of https://.* is not trusted: .*unable to get local issuer "
                r"certificate.*Coordinator\(ca=…\)"
            ),
        ),
    ):
        one.config()


def test_a_certificate_for_another_host_is_told_in_words(authority: trustme.CA, tmp_path: Path, ca: str) -> None:
    with (
        coordinator(authority, tmp_path, "coordinator.example") as port,
        client(f"https://localhost:{port}", ca) as one,
        pytest.raises(Untrusted, match=r"Hostname mismatch.*'localhost'.*a host that the certificate names"),
    ):
        one.config()


def test_a_port_without_tls_is_told_in_words_and_is_never_sent_the_token(ca: str) -> None:
    plain = Answer()
    with (
        serving(plain) as url,
        client(url.replace("http://", "https://"), ca) as one,
        pytest.raises(Untrusted, match="does not speak TLS; is it http://"),
    ):
        one.config()
    assert plain.asked == []


def test_plain_http_to_a_tls_port_is_unreachable(authority: trustme.CA, tmp_path: Path) -> None:
    with (
        coordinator(authority, tmp_path, "localhost") as port,
        client(f"http://localhost:{port}", timeout="300 milliseconds") as one,
        pytest.raises(Unreachable),
    ):
        one.config()


def test_a_handshake_that_hangs_ends_at_the_timeout(ca: str) -> None:
    with (
        speaking(silent) as url,
        client(url.replace("http://", "https://"), ca, "300 milliseconds") as one,
        pytest.raises(Unreachable, match=r"no whole answer within 0\.3 s"),
    ):
        one.config()


def test_a_ca_file_that_is_none_is_an_error_at_the_start(tmp_path: Path, authority: trustme.CA) -> None:
    (tmp_path / "empty.pem").touch()
    (tmp_path / "text.pem").write_text("not a certificate")
    (tmp_path / "bytes.pem").write_bytes(b"\xff\x00" * 99)
    authority.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    for name in ("empty.pem", "text.pem", "bytes.pem", "key.pem", "missing.pem", "."):
        with pytest.raises(ConfigurationError, match=rf"Coordinator\(ca='.*{name}'\): expected a readable file"):
            client("https://localhost", str(tmp_path / name))


@pytest.mark.parametrize(
    ("url", "ca", "why"),
    [("http://c", "ca.pem", "nothing protects"), ("https://c", 7, "path"), ("https://c", "", "path")],
)
def test_a_ca_that_could_not_protect_anything_is_refused(url: str, ca: object, why: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"Coordinator\(ca=.*{why}"):
        Coordinator(url, group="g", ca=ca)  # type: ignore[arg-type]
