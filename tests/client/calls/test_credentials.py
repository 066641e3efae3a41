"""What a client shows to a real coordinator, a certificate and a token from a file; and what
becomes of them when they are renewed while the client is in use.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lockgate.wire.events import ReaderRegistrationEvent
from lockgate_coordinator.access.tokens import Role, Token, digest_of, stanza
from lockgate_http.calls.client import CoordinatorClient, Untrusted
from lockgate_http.calls.connection import Connection
from lockgate_http.calls.credentials import Access
from lockgate_http.config import Coordinator
from lockgate_http.errors import AccessDenied, ConfigurationError
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for
from support.mutual import Authority, Shown

OLD, NEW = "lockgate_old-0123456789abcdef", "lockgate_new-0123456789abcdef"


def tokens(*secrets: str) -> str:
    """Return a file of tokens with the role `report`."""
    return "\n".join(stanza(Token(f"t{n}", digest_of(each.encode()), Role.REPORT)) for n, each in enumerate(secrets))


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("known"))


@pytest.fixture(scope="module")
def served(known: Authority) -> Iterator[CoordinatorProcess]:
    own = known.issued("server", "127.0.0.1")
    files = ("--ssl-certfile", str(own.certificate), "--ssl-keyfile", str(own.key), "--ssl-ca-certs", str(known.ca))
    with CoordinatorProcess(options=files) as process:
        yield process


def client(url: str, known: Authority, shown: Shown | None) -> CoordinatorClient:
    files = {} if shown is None else {"cert": str(shown.certificate), "key": str(shown.key)}
    return CoordinatorClient(Coordinator(url, group="g", ca=str(known.ca), timeout="1 minute", **files))


def test_a_client_that_shows_a_certificate_of_the_authority_is_served(
    served: CoordinatorProcess, known: Authority
) -> None:
    with client(served.url, known, known.issued("driver", "driver@example.org")) as one:
        assert one.register("orders", ReaderRegistrationEvent(subtask=0)).epoch > 0


def test_a_client_that_is_refused_is_told_why_and_what_to_set(served: CoordinatorProcess, known: Authority) -> None:
    told = "it asks for a certificate, and none was shown"
    remedy = r"\. Set Coordinator\(cert=…, key=…\) to a certificate of an authority that the coordinator knows"
    with (
        client(served.url, known, None) as one,
        pytest.raises(Untrusted, match=rf"^{served.url} refuses this client: {told}{remedy}$"),
    ):
        one.config()


def test_a_certificate_that_is_renewed_is_shown_to_the_next_connection(
    served: CoordinatorProcess, known: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    shown = known.issued("renewed", "driver@example.org", expired=True)
    with client(served.url, known, shown) as one:
        with pytest.raises(Untrusted, match="has expired"):
            one.register("orders", ReaderRegistrationEvent(subtask=1))
        known.issued("renewed", "driver@example.org")
        assert one.register("orders", ReaderRegistrationEvent(subtask=1)).epoch > 0
        shown.key.write_text("not a key")
        with caplog.at_level(logging.ERROR, "lockgate"):
            assert one.register("orders", ReaderRegistrationEvent(subtask=1)).epoch > 0
            assert one.register("orders", ReaderRegistrationEvent(subtask=1)).epoch > 0
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert ": Coordinator(cert=" in line
    assert "so the client keeps the previous credentials" in line


def test_token_changed_in_its_file_is_used_whichever_side_is_first(tmp_path: Path) -> None:
    file, accepted = tmp_path / "token", tmp_path / "tokens.toml"
    file.write_text(f"{OLD}\n")
    accepted.write_text(tokens(OLD))
    with CoordinatorProcess(options=("--tokens", str(accepted))) as served:
        settings = Coordinator(served.url, group="g", token_file=str(file), timeout="1 minute")
        with CoordinatorClient(settings) as one:
            assert one.register("a", ReaderRegistrationEvent(subtask=0)).epoch > 0
            file.write_text(NEW)
            assert one.register("a", ReaderRegistrationEvent(subtask=0)).epoch > 0, "by the token before it"
            accepted.write_text(tokens(NEW))
            wait_for(lambda: one.config() and "has changed; tokens loaded: 1" in served.log.read_text())
            assert one.register("a", ReaderRegistrationEvent(subtask=0)).epoch > 0
            file.write_text("")
            assert one.config(), "an empty file is half a renewal: the token before it stays"
            file.write_text(OLD)
            assert one.config(), "the token before it is still in force"
            file.write_text(f"{OLD}x")
            with pytest.raises(AccessDenied, match="401"):
                one.config()


def test_token_changed_while_a_request_is_on_its_way_is_used(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(OLD)

    def answer(request: httpx.Request) -> httpx.Response:
        file.write_text(f"{NEW}\n")
        status = 200 if request.headers["Authorization"] == f"Bearer {NEW}" else 401
        return httpx.Response(status, stream=httpx.ByteStream(b""))

    access = Access("http://c", token_file=str(file))
    with Connection(access, transport=httpx.MockTransport(answer)) as one:
        assert one.call(lambda: one.send("GET", "/")).status == 200


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"token": "t", "token_file": "f"}, r"\(token, token_file\): expected one of the two"),
        ({"token_file": "/nowhere"}, r"\(token_file='/nowhere'\): cannot be read"),
        ({"key": "k"}, r"\(key\): needs cert"),
        ({"cert": "/nowhere"}, r"\(cert='/nowhere', key=None\): expected a certificate in PEM"),
        ({"cert": 7}, r"\(cert=7\): expected the path of a file"),
        ({"url": "http://c", "cert": "c.pem"}, r"\(cert='c.pem'\): the url is http://, which nothing protects"),
    ],
)
def test_what_cannot_be_shown_is_an_error_at_the_start(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"Coordinator{why}"):
        CoordinatorClient(Coordinator(**{"url": "https://c", "group": "g", **given}))


def test_no_token_of_a_file_stands_in_an_error_or_a_representation(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(f"{OLD} {NEW}")
    coordinator = Coordinator("http://c", group="g", token_file=str(file))
    assert OLD not in repr(coordinator)
    with pytest.raises(ConfigurationError, match="expected one token and nothing else") as refused:
        CoordinatorClient(coordinator)
    assert OLD not in str(refused.value)
