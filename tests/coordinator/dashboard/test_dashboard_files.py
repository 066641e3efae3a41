"""The dashboard's files as they are served: to whom, with which headers, and how large."""

import gzip
import re
from pathlib import Path

import httpx
import pytest
from starlette.routing import Route

from lockgate_coordinator.app import create_app
from lockgate_coordinator.dashboard import pages
from lockgate_coordinator.dashboard.pages import POLICY
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from support.in_process import client_of
from support.tokens import FILE, TOKENS, bearer

STATIC = Path(pages.__file__).parent / "static"
PATHS = [page.path for page in pages.routes()]
MOST_BYTES = 300_000


def client(settings: Settings = Settings()) -> httpx.AsyncClient:  # noqa: B008 – frozen
    return client_of(create_app(MemoryStore(), settings), base_url="http://127.0.0.1:8080")


@pytest.fixture
def guarded(tmp_path: Path) -> Settings:
    file = tmp_path / "tokens.toml"
    file.write_text(FILE)
    return Settings(tokens_file=file)


async def test_no_page_of_the_service_loads_anything_from_another_host() -> None:
    app = create_app(MemoryStore())
    pages_of_html = 0
    async with client() as http:
        for path in (route.path for route in app.routes if isinstance(route, Route) and "{" not in route.path):
            answer = await http.get(path)
            if answer.headers.get("content-type", "").startswith("text/html"):
                pages_of_html += 1
                assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", answer.text) == [], path
    assert pages_of_html > 0


async def test_every_file_says_that_no_other_page_may_load_frame_or_feed_it() -> None:
    async with client() as http:
        for path in PATHS:
            answer = await http.get(path)
            assert answer.status_code == 200
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")


async def test_the_whole_page_is_below_300_kb_packed() -> None:
    async with client() as http:
        sizes = [int((await http.get(path)).headers["content-length"]) for path in PATHS]
    assert 20_000 < sum(sizes) < MOST_BYTES


async def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    async with client() as http:
        first = await http.get("/")
        again = await http.get("/", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        other = await http.get("/", headers={"If-None-Match": '"another"'})
        assert other.status_code == 200


async def test_a_client_that_unpacks_nothing_gets_the_plain_file() -> None:
    async with client() as http:
        plain = await http.get("/dashboard/app.js", headers={"Accept-Encoding": "identity"})
        packed = await http.get("/dashboard/app.js")
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content == (STATIC / "app.js").read_bytes()
    assert gzip.decompress(gzip.compress(plain.content)) == plain.content


async def test_the_files_need_no_token_and_all_that_they_ask_for_does(guarded: Settings) -> None:
    async with client(guarded) as http:
        for path in PATHS:
            assert (await http.get(path)).status_code == 200
            assert (await http.head(path)).status_code == 200
            assert (await http.post(path)).status_code == 401
        for path in ("/v1/token", "/v1/groups", "/metrics", "/dashboard/nothing.js", "/dashboard"):
            assert (await http.get(path)).status_code == 401


async def test_without_the_dashboard_there_is_no_page(guarded: Settings) -> None:
    async with client(Settings(dashboard=False)) as http:
        for path in PATHS:
            assert (await http.get(path)).status_code == 404
    async with client(Settings(tokens_file=guarded.tokens_file, dashboard=False)) as http:
        assert (await http.get("/")).status_code == 401


async def test_the_token_learns_its_own_name_and_rights_alone(guarded: Settings) -> None:
    async with client(guarded) as http:
        for token in TOKENS:
            answer = (await http.get("/v1/token", headers=bearer(token.name))).json()
            groups = None if token.groups is None else list(token.groups)
            assert answer == {"name": token.name, "role": token.role.name.lower(), "groups": groups}


async def test_where_nobody_needs_a_token_everybody_may_do_everything() -> None:
    async with client() as http:
        assert (await http.get("/v1/token")).json() == {"name": None, "role": "admin", "groups": None}


def test_no_script_makes_html_out_of_text_and_nothing_is_inline() -> None:
    for file in STATIC.iterdir():
        text = file.read_text(encoding="utf-8")
        for danger in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert danger not in text, f"{file.name} has {danger}"
        assert "://" not in text.replace("http://www.w3.org/2000/svg", ""), f"{file.name} names another host"
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert "<style" not in page
    assert " style=" not in page
    assert "<script>" not in page
