"""The client and a real coordinator behind TLS: which CA is trusted, what a wrong one is told as,
and what the files must be.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.wire.events import ReaderRegistrationEvent
from lockgate_http.calls.client import CoordinatorClient, Unreachable, Untrusted
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import Answer, serving
from support.hostile import silent, speaking
from support.mutual import Authority

TOKEN = "s3cret-t0ken"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def ca(authority: Authority) -> str:
    return str(authority.ca)


@pytest.fixture(scope="module")
def port(authority: Authority) -> Iterator[str]:
    """Yield the port of a coordinator with a certificate for localhost."""
    own = authority.issued("server", "localhost")
    with CoordinatorProcess(options=("--ssl-certfile", str(own.certificate), "--ssl-keyfile", str(own.key))) as served:
        yield served.url.rpartition(":")[2]


def client(url: str, ca: str | None = None, timeout: str = "1 minute") -> CoordinatorClient:
    return CoordinatorClient(Coordinator(url, group="g", ca=ca, token=TOKEN, timeout=timeout))


def test_a_coordinator_whose_ca_is_given_is_trusted(port: str, ca: str) -> None:
    with client(f"https://localhost:{port}", ca) as one:
        assert one.register("orders", ReaderRegistrationEvent(subtask=0)).epoch > 0


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_certificate_of_another_ca_is_told_in_words(port: str, host: str) -> None:
    said = "is not trusted: .*unable to get local issuer certificate"
    with (
        client(f"https://{host}:{port}") as one,
        pytest.raises(Untrusted, match=rf"certificate of https://.* {said}.*Coordinator\(ca=…\)"),
    ):
        one.config()


def test_a_certificate_for_another_host_is_told_in_words(port: str, ca: str) -> None:
    with (
        client(f"https://127.0.0.1:{port}", ca) as one,
        pytest.raises(Untrusted, match=r"mismatch.*'127\.0\.0\.1'.*a host that the certificate names"),
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


def test_plain_http_to_a_tls_port_is_unreachable(port: str) -> None:
    with client(f"http://localhost:{port}", timeout="300 milliseconds") as one, pytest.raises(Unreachable):
        one.config()


def test_a_handshake_that_hangs_ends_at_the_timeout(ca: str) -> None:
    with (
        speaking(silent) as url,
        client(url.replace("http://", "https://"), ca, "300 milliseconds") as one,
        pytest.raises(Unreachable, match=r"no whole answer within 0\.3 s"),
    ):
        one.config()


def test_a_ca_file_that_is_none_is_an_error_at_the_start(tmp_path: Path, authority: Authority) -> None:
    (tmp_path / "empty.pem").touch()
    (tmp_path / "text.pem").write_text("not a certificate")
    (tmp_path / "bytes.pem").write_bytes(b"\xff\x00" * 99)
    (tmp_path / "key.pem").write_bytes(authority.issued("other", "localhost").key.read_bytes())
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
