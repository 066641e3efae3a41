"""The dashboard for everybody and against hostile names: axe finds nothing, and no name becomes
more than a text.
"""

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from lockgate_testbed.coordinator import CoordinatorProcess
from support.browser import UNHURRIED_MS, watched
from support.http_readers import HttpReader
from support.tokens import SECRETS, bearer

T0 = 1_767_225_600_000
CONFIG = {"max_drift_ms": 300_000, "lease_ms": 600_000, "catch_up": "strict"}
HOSTILE = "<script>window.harmed = true</script><img src=x onerror='window.harmed = true'>"
RIGHT_TO_LEFT = "\u202eمصدر الطلبات\u202e"
LONG = "n" * 200

expect.set_options(timeout=UNHURRIED_MS)


@pytest.fixture(scope="module")
def url(coordinator: CoordinatorProcess) -> str:
    """Return a group with a reader of each hostile owner, one that waits and one that is idle."""
    for group in ("shown", LONG):
        httpx.put(f"{coordinator.url}/v1/groups/{group}", json=CONFIG, headers=bearer("admin"), timeout=60)
    for subtask, owner in enumerate((HOSTILE, RIGHT_TO_LEFT, LONG)):
        reader = HttpReader(
            coordinator.url, "shown", "s" * 200, subtask, bearer("reporter"), owner=owner, attributes={owner: owner}
        )
        mark = T0 + subtask * 400_000
        reader.report(mark, splits={f"{'p' * 190}-{subtask}": {"watermark": mark, "state": "active"}})
    HttpReader(coordinator.url, "shown", "quiet", headers=bearer("reporter")).report(T0, idle=True)
    return coordinator.url


def findings(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}" for each in found]


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_axe_finds_nothing_on_any_page(browser: Browser, url: str, theme: str) -> None:
    with watched(browser, url, color_scheme=theme) as page:
        expect(page.get_by_label("Token")).to_be_visible()
        assert findings(page) == []
        page.get_by_label("Token").fill(SECRETS["admin"])
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="shown")).to_be_visible()
        expect(page.get_by_text("ready", exact=True)).to_be_visible()
        assert findings(page) == []
        page.get_by_role("link", name="shown").click()
        expect(page.locator("#sentence")).to_contain_text("Waiting for")
        expect(page.get_by_role("group", name="Drift of 3 partitions")).to_be_visible()
        assert findings(page) == []
        page.get_by_role("button", name="Drift and mode").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        assert findings(page) == []


def test_a_hostile_owner_is_a_text_like_any_other(browser: Browser, url: str) -> None:
    with watched(browser, f"{url}/#/groups/shown", SECRETS["admin"]) as page:
        expect(page.get_by_text(HOSTILE, exact=True)).to_be_visible()
        expect(page.get_by_role("list", name="Journal")).to_contain_text(f"(owner {HOSTILE})")
        expect(page.get_by_text(RIGHT_TO_LEFT, exact=True)).to_be_visible()
        assert page.evaluate("window.harmed") is None
        page.get_by_label("Find a reader").fill(HOSTILE)
        expect(page.get_by_role("group", name="Readers and leases").locator("tbody tr")).to_have_count(1)


@pytest.mark.long
def test_a_hostile_address_shows_what_the_service_says_of_it(browser: Browser, url: str) -> None:
    name = "%3Cscript%3Ewindow.harmed%3Dtrue%3C%2Fscript%3E"
    with watched(browser, f"{url}/#/groups/{name}", SECRETS["reader"]) as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("<script>window.harmed=true</script>")
        assert page.evaluate("window.harmed") is None


@pytest.mark.parametrize(
    "place", [f"groups/{LONG}", *(pytest.param(each, marks=pytest.mark.long) for each in ("", "groups/shown"))]
)
def test_no_page_is_wider_than_its_window(browser: Browser, url: str, place: str) -> None:
    with watched(browser, f"{url}/#/{place}", SECRETS["admin"]) as page:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("#link")).to_have_text("Live")
        for width in (390, 820, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
