"""A service without tokens, and the pages of a browser on the same machine: by their headers, and
in a real Chromium.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from lockgate_coordinator.access.browsers import is_private
from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import Answer, serving
from support.in_process import client_of

CHROMIUM = shutil.which("chromium")
OWN = "http://127.0.0.1:8080"
READERS = "/v1/groups/g/sources/s/readers"
TAKEOVER = '{"subtask": 0, "takeover": true}'


def client(*allowed: str) -> httpx.AsyncClient:
    return client_of(create_app(MemoryStore(), Settings(allowed_hosts=allowed)), base_url=OWN)


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("127.0.0.1:8080", True),
        ("10.0.0.7", True),
        ("[::1]:8080", True),
        ("[2001:db8::1]", True),
        ("localhost:8080", True),
        ("LOCALHOST", True),
        ("app.localhost", True),
        ("coordinator:8080", True),
        ("lockgate.streams.svc:8080", True),
        ("lockgate.streams.svc.cluster.local", True),
        ("ip-10-0-0-7.ec2.internal", True),
        ("pages.example", False),
        ("127.0.0.1.pages.example:8080", False),
        ("localhost.pages.example", False),
        ("local.", False),
        ("ai.", False),
        ("app.local.", True),
        ("pages.example.", False),
        ("::1", True),
        ("[::1].pages.example", False),
        (":8080", False),
    ],
)
def test_a_host_that_no_page_can_have_is_private(host: str, private: bool) -> None:
    assert is_private(host) is private


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/groups"), ("PUT", "/v1/groups/g"), ("DELETE", "/v1/groups/g"), ("POST", READERS)]
)
async def test_a_foreign_host_is_answered_421_and_nothing_is_done(method: str, path: str) -> None:
    async with client() as api:
        assert (await api.put("/v1/groups/g", json={})).status_code == 201
        before = (await api.get("/v1/groups/g/alignment")).json()
        answer = await api.request(method, path, headers={"Host": "pages.example:8080"}, json={"subtask": 0})
        assert (answer.status_code, answer.json()["type"]) == (421, "urn:lockgate:foreign-host")
        assert "--allowed-host" in answer.json()["detail"]
        assert (await api.get("/v1/groups/g/alignment")).json() == before
        assert (await api.get("/v1/groups/g")).json()["sources"] == []


async def test_a_name_that_the_operator_allows_is_answered_and_others_are_not() -> None:
    async with client("lockgate.example") as api:
        for host, status in (("lockgate.example:8080", 200), ("LOCKGATE.example", 200), ("pages.example", 421)):
            assert (await api.get("/v1/groups", headers={"Host": host})).status_code == status
    async with client("*") as api:
        assert (await api.get("/v1/groups", headers={"Host": "pages.example"})).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"Origin": OWN}, 201),
        ({"Origin": OWN, "Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "none"}, 201),
        ({"Origin": "https://pages.example"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
    ],
)
async def test_a_request_that_a_page_of_another_origin_sends_is_refused(headers: dict[str, str], status: int) -> None:
    async with client() as api:
        answer = await api.post(READERS, json={"subtask": 0}, headers=headers)
        assert answer.status_code == status
        assert (await api.get("/v1/groups/g")).status_code == (200 if status == 201 else 404)


async def test_a_link_that_somebody_follows_is_answered_and_a_form_is_not() -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    async with client() as api:
        assert (await api.get("/v1/groups", headers=followed)).status_code == 200
        assert (await api.post(READERS, json={"subtask": 0}, headers=followed)).status_code == 403


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 201),
        ("Application/JSON; charset=utf-8", 201),
        ("application/vnd.lockgate+json", 201),
        ("", 201),
        ("text/plain", 415),
        ("text/plain; a=application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
async def test_a_body_of_another_type_than_json_is_refused(kind: str, status: int) -> None:
    async with client() as api:
        headers = {"Content-Type": kind} if kind else {}
        registered = await api.post(READERS, content=TAKEOVER, headers=headers)
        assert registered.status_code == status
        await api.post(READERS, json={"subtask": 0})
        reported = await api.post("/v1/groups/g/watermarks", content='{"reports": []}', headers=headers)
        assert reported.status_code == (200 if status == 201 else 415)


def shown(url: str, profile: Path, *more: str) -> str:
    """Return the page at this address, as Chromium has it once its scripts are done."""
    assert CHROMIUM is not None
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *more]
    done = subprocess.run(
        [*command, "--virtual-time-budget=20000", "--dump-dom", url],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@pytest.fixture
def coordinator() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess() as process:
        yield process


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
def test_a_page_of_another_site_registers_nothing(coordinator: CoordinatorProcess, tmp_path: Path) -> None:
    script = f"""
        const asked = await fetch("{coordinator.url}{READERS}", {{
            method: "POST", mode: "no-cors", headers: {{"Content-Type": "text/plain"}}, body: '{TAKEOVER}' }});
        const blob = await fetch("{coordinator.url}{READERS}", {{
            method: "POST", mode: "no-cors", body: new Blob(['{TAKEOVER}']) }});
        document.title = "tried " + asked.type + " " + blob.type"""
    page = f"<title>begun</title><script type=module>{script}</script>"
    with serving(Answer(body=page.encode(), kind="text/html")) as url:
        dom = shown(url, tmp_path)
    assert "<title>tried opaque opaque</title>" in dom
    assert httpx.get(f"{coordinator.url}/v1/groups", timeout=60).json()["items"] == []
    metrics = httpx.get(f"{coordinator.url}/metrics", timeout=60).text
    assert 'lockgate_rejections_total{type="cross-site"} 2.0' in metrics


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
def test_a_page_whose_name_resolves_to_this_machine_reads_nothing(
    coordinator: CoordinatorProcess, tmp_path: Path
) -> None:
    httpx.put(f"{coordinator.url}/v1/groups/secret-group", json={}, timeout=60).raise_for_status()
    port = coordinator.url.rpartition(":")[2]
    rebound = "--host-resolver-rules=MAP pages.example 127.0.0.1"
    foreign = shown(f"http://pages.example:{port}/v1/groups", tmp_path, rebound)
    assert "foreign-host" in foreign
    assert "secret-group" not in foreign
    assert "secret-group" in shown(f"{coordinator.url}/v1/groups", tmp_path)
