"""A real Chromium for tests of the dashboard, and pages of it that are watched: what they ask of
other hosts, what their policy refuses, and what goes wrong in their scripts.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
MISSING = "chromium is not installed: apt-get install chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
]
UNHURRIED_MS = 30_000
"""How long a condition may take to come true on a busy machine."""

_NOTE_VIOLATIONS = (
    "window.violations = []; "
    "addEventListener('securitypolicyviolation', "
    "event => violations.push(event.violatedDirective + ' ' + event.blockedURI))"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def watched(browser: Browser, url: str, token: str | None = None, **context: Any) -> Iterator[Page]:
    """The dashboard at this address. At the end nothing has gone wrong in it, nothing was asked of
    another host, and its policy has refused nothing. `token`: signed in with it.
    """
    opened = browser.new_context(**context)
    opened.set_default_timeout(UNHURRIED_MS)
    page = opened.new_page()
    home, faults, foreign = url.partition("#")[0], list[str](), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(home) else foreign.append(request.url))
    page.add_init_script(_NOTE_VIOLATIONS)
    page.goto(url)
    if token is not None:
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
    try:
        yield page
        assert page.evaluate("violations") == []
    finally:
        opened.close()
    assert faults == []
    assert foreign == []
