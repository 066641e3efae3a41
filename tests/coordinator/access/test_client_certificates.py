"""A coordinator that asks its callers for a certificate: who comes in, what the others are told,
and certificates that are renewed while it runs.
"""

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.process import free_ports
from support.answers import wait_for
from support.lockgate_command import fault, said
from support.mutual import Authority, Shown


@pytest.fixture
def known(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "known")


def options(known: Authority) -> tuple[str, ...]:
    """Of a server that asks for a certificate."""
    own = known.issued("server", "127.0.0.1")
    return "--ssl-certfile", str(own.certificate), "--ssl-keyfile", str(own.key), "--ssl-ca-certs", str(known.ca)


@pytest.fixture
def served(known: Authority) -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess(options=options(known)) as process:
        yield process


def showing(known: Authority, shown: Shown | None) -> dict[str, str]:
    """Return the environment of a command that shows a certificate."""
    files = {} if shown is None else {"LOCKGATE_CERT": str(shown.certificate), "LOCKGATE_KEY": str(shown.key)}
    return {"LOCKGATE_CA": str(known.ca), **files}


def test_a_command_that_shows_a_certificate_of_the_authority_is_served(
    served: CoordinatorProcess, known: Authority
) -> None:
    shown = known.issued("operator", "operator@example.org")
    assert "no groups" in said(served.url, "groups", **showing(known, shown))
    words = ("--ca", str(known.ca), "--cert", str(shown.certificate), "--key", str(shown.key))
    assert "no groups" in said(served.url, "groups", *words)


@pytest.mark.parametrize(
    ("whose", "told", "logged"),
    [
        ("nobody's", "it asks for a certificate, and none was shown", "it presented no certificate"),
        ("a stranger's", "it does not know the authority", "its certificate is not accepted: unable to get local"),
        ("expired", "has expired, or is not valid yet", "its certificate is not accepted: certificate has expired"),
    ],
)
def test_client_and_log_are_told_why_a_caller_is_refused(
    served: CoordinatorProcess, known: Authority, tmp_path: Path, whose: str, told: str, logged: str
) -> None:
    shown = {
        "nobody's": None,
        "a stranger's": Authority(tmp_path / "stranger").issued("driver", "driver@example.org"),
        "expired": known.issued("driver", "driver@example.org", expired=True),
    }[whose]
    line = fault(served.url, "groups", **showing(known, shown))
    assert f"{served.url} refuses this client: " in line
    assert told in line
    assert line.endswith("Set --cert and --key to a certificate of an authority that the coordinator knows")
    assert f"a client was refused: {logged}" in served.log.read_text()


def test_the_log_has_one_line_of_many_refusals(served: CoordinatorProcess, known: Authority) -> None:
    for _ in range(5):
        fault(served.url, "groups", **showing(known, None))
    assert served.log.read_text().count("a client was refused") == 1


def serial(url: str, known: Authority, shown: Shown) -> object:
    """Of the certificate that the coordinator shows to a new connection."""
    context = ssl.create_default_context(cafile=known.ca)
    context.load_cert_chain(shown.certificate, shown.key)
    with httpx.Client(verify=context) as client, client.stream("GET", f"{url}/livez", timeout=60) as answer:
        return answer.extensions["network_stream"].get_extra_info("ssl_object").getpeercert()["serialNumber"]


def test_renewed_certificate_is_shown_and_a_broken_one_not_taken(served: CoordinatorProcess, known: Authority) -> None:
    mine = known.issued("driver", "driver@example.org")
    before = serial(served.url, known, mine)
    pid = served.pid
    known.issued("server", "127.0.0.1")
    wait_for(lambda: serial(served.url, known, mine) != before)
    after = serial(served.url, known, mine)
    (known.ca.parent / "server.key").write_text("not a key")
    wait_for(lambda: "certificates rejected, keeping the previous ones: --ssl-certfile" in served.log.read_text())
    assert serial(served.url, known, mine) == after
    assert served.pid == pid


def test_an_authority_that_is_taken_out_lets_nobody_in_any_more(
    served: CoordinatorProcess, known: Authority, tmp_path: Path
) -> None:
    shown = showing(known, known.issued("driver", "driver@example.org"))
    assert "no groups" in said(served.url, "groups", **shown)
    kept, new = tmp_path / "kept.pem", Authority(tmp_path / "new")
    kept.write_bytes(known.ca.read_bytes())
    known.ca.write_bytes(new.ca.read_bytes())
    mine = {**shown, "LOCKGATE_CA": str(kept)}
    wait_for(lambda: "new connections use the certificates" in served.log.read_text())
    assert "does not know the authority" in fault(served.url, "groups", **mine)
    theirs = new.issued("driver", "driver@example.org")
    mine |= {"LOCKGATE_CERT": str(theirs.certificate), "LOCKGATE_KEY": str(theirs.key)}
    assert "no groups" in said(served.url, "groups", **mine)


def test_probe_port_needs_no_certificate_and_answers_nothing_else(known: Authority) -> None:
    (port,) = free_ports(1)
    with CoordinatorProcess(options=(*options(known), "--probe-port", str(port))) as served:
        probes = f"http://127.0.0.1:{port}"
        assert [httpx.get(probes + path, timeout=60).status_code for path in ("/livez", "/readyz")] == [200, 200]
        others = ("/", "/v1/groups", "/metrics", "/livez/")
        assert [httpx.get(probes + path, timeout=60).status_code for path in others] == [404] * 4
        assert httpx.put(f"{probes}/v1/groups/g", json={}, timeout=60).status_code == 404
        served.stop()
        assert "Traceback" not in served.log.read_text()


def test_a_certificate_and_a_key_that_do_not_belong_together_are_named(known: Authority) -> None:
    one, other = known.issued("one", "a@example.org"), known.issued("other", "b@example.org")
    line = fault("https://127.0.0.1:1", "groups", "--cert", str(one.certificate), "--key", str(other.key))
    assert f"--cert {one.certificate} --key {other.key}: expected a certificate in PEM, and its key without" in line
    assert "--key needs --cert" in fault("https://127.0.0.1:1", "groups", "--key", str(one.key))
