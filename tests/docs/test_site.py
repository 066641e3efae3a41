"""The site of the pages, as `make docs` builds it: nothing is broken or too wide, it asks no other
host, and its search finds what people look for.
"""

import functools
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Locator, Page, expect

from support.browser import CHROMIUM, MISSING, UNHURRIED_MS, chromium
from support.imports import CHECKOUT

SITE = CHECKOUT / "build/site"
LISTED = re.findall(r'"([\w/-]+)\.md"\}', (CHECKOUT / "zensical.toml").read_text(encoding="utf-8"))
PAGES = tuple("" if page == "index" else f"{page}/" for page in LISTED)
LOOKED_AT = ("", "reference/python/")
WIDTHS = (360, 390, 1024, 1440)
VERSIONS = "/versions.json"
"""Only a published site has it, beside its versions."""


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of the site, built from the pages of now."""
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE.parent))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/site/"
        server.shutdown()


@pytest.fixture(scope="module")
def window(site: str) -> Iterator[Page]:
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(UNHURRIED_MS)
        yield page


@pytest.mark.usefixtures("site")
def test_every_link_and_picture_of_a_page_leads_to_a_file_of_the_site() -> None:
    gone = [
        f"{page.relative_to(SITE)}: {target}"
        for page in SITE.rglob("index.html")
        for target in re.findall(r'(?:href|src)="?([^"#?\s>]+)', page.read_text(encoding="utf-8"))
        if not target.startswith(("http:", "https:", "mailto:", "data:", "javascript:"))
        and not (page.parent / target).exists()
    ]
    assert gone == []


@pytest.mark.usefixtures("site")
def test_llms_txt_lists_every_page_of_the_navigation() -> None:
    text = (SITE / "llms.txt").read_text(encoding="utf-8")
    listed = re.findall(r"/latest/(.*?)/?index\.md>", text)

    assert sorted(listed) == sorted("" if page == "index" else page for page in LISTED)


def test_the_site_asks_no_other_host_and_reports_no_error(site: str, window: Page) -> None:
    asked, wrong = list[str](), list[str]()
    window.on("request", lambda request: asked.append(request.url))
    window.on("pageerror", lambda error: wrong.append(str(error)))
    for name in LOOKED_AT:
        window.goto(site + name)
    searched(window, "idle_timeout")

    assert wrong == []
    assert [url for url in asked if not url.startswith((site, "data:", "blob:")) and not url.endswith(VERSIONS)] == []


@pytest.mark.parametrize("pages", [LOOKED_AT, pytest.param(PAGES, id="all", marks=pytest.mark.long)])
def test_no_page_is_wider_than_its_window_and_no_code_than_its_column(
    site: str, window: Page, pages: tuple[str, ...]
) -> None:
    wide = []
    code = "[...document.querySelectorAll('article pre code')].filter(each => each.scrollWidth > each.clientWidth + 1)"
    for name in pages:
        window.goto(site + name, wait_until="domcontentloaded")
        for width in WIDTHS:
            window.set_viewport_size({"width": width, "height": 900})
            if window.evaluate("document.documentElement.scrollWidth") > width:
                wide.append(f"{name} at {width}")
        wide += [f"{name}: {text}" for text in window.evaluate(f"{code}.map(each => each.textContent.slice(0, 80))")]
    assert wide == []


@pytest.mark.parametrize(
    ("words", "pages"),
    [
        ("data loss", ("troubleshooting/", "guide/measure/")),
        ("stuck", ("troubleshooting/",)),
        ("idle partition", ("guide/uneven-partitions/",)),
        ("high availability", ("operations/",)),
        ("license", ("",)),
    ],
)
def test_a_search_finds_the_right_page_first(site: str, window: Page, words: str, pages: tuple[str, ...]) -> None:
    window.goto(site)

    first = re.compile(rf"/site/({'|'.join(pages)})\?h={words.replace(' ', '.')}(#|$)")
    expect(searched(window, words).first).to_have_attribute("href", first, timeout=UNHURRIED_MS)


def searched(window: Page, words: str) -> Locator:
    """Type these words into the search, and return its results, which follow each letter."""
    window.locator("button.md-search__button").click()
    window.locator("input:focus").fill(words)
    found = window.locator('a[href*="?h="]')
    found.first.wait_for()
    return found
