"""What an operator comes for, in a real Chromium over a live coordinator."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from lockgate_testbed.coordinator import CoordinatorProcess
from support.browser import UNHURRIED_MS, watched
from support.http_readers import HttpReader
from support.tokens import SECRETS, bearer

MINUTE = 60_000
T0 = 1_767_225_600_000
STEADY = {"max_drift_ms": 5 * MINUTE, "lease_ms": 600_000, "catch_up": "strict"}

expect.set_options(timeout=UNHURRIED_MS)


def split(watermark: int, state: str = "active") -> dict[str, object]:
    return {"watermark": watermark, "state": state, "position": 10, "end": 90}


def shop(url: str, group: str) -> tuple[HttpReader, HttpReader]:
    """Orders wait for payments."""
    httpx.put(f"{url}/v1/groups/{group}", json=STEADY, headers=bearer("admin"), timeout=60).raise_for_status()
    orders = HttpReader(url, group, "orders", headers=bearer("reporter"))
    payments = HttpReader(url, group, "payments", headers=bearer("reporter"))
    payments.report(T0, splits={"payments-0": split(T0), "payments-1": split(T0 + MINUTE)})
    orders.report(T0 + 6 * MINUTE, splits={"orders-0": split(T0 + 6 * MINUTE, "paused")})
    return orders, payments


def row(page: Page, table: str, name: str) -> Locator:
    return page.get_by_role("group", name=table).get_by_role("row").filter(has=page.get_by_role("rowheader", name=name))


def test_somebody_who_may_only_read_finds_who_holds_and_gets_no_button(
    browser: Browser, coordinator: CoordinatorProcess
) -> None:
    _, payments = shop(coordinator.url, "find")
    with watched(browser, coordinator.url, SECRETS["reader"]) as page:
        page.get_by_role("link", name="find", exact=True).click()
        expect(page.locator("#sentence")).to_contain_text("Waiting for payments/0 (partition payments-0)")
        expect(row(page, "Sources", "orders")).to_contain_text("waits at the read limit")
        expect(page.get_by_text("Pause, evict and configure need the role admin")).to_be_visible()
        for act in ("Pause", "Evict", "Delete", "Drift and mode"):
            expect(page.get_by_role("button", name=act)).to_have_count(0)
        # live: what is reported now is on the page without a click
        payments.report(T0 + 3 * MINUTE)
        expect(page.locator("#sentence")).to_contain_text("2026-01-01T00:03:00Z")


@pytest.mark.long
def test_a_lost_reader_is_the_first_that_is_seen(browser: Browser, coordinator: CoordinatorProcess) -> None:
    url = coordinator.url
    shop(url, "zz-healthy")
    brief = {**STEADY, "lease_ms": 100, "on_lost_reader": "hold"}
    httpx.put(f"{url}/v1/groups/zz-lost", json=brief, headers=bearer("admin"), timeout=60).raise_for_status()
    HttpReader(url, "zz-lost", "orders", headers=bearer("reporter")).report(T0)
    with watched(browser, url, SECRETS["reader"]) as page:
        page.get_by_label("Find a group").fill("zz-")
        expect(page.locator("tbody tr").first).to_contain_text("Reader lost")
        page.get_by_role("link", name="zz-lost").click()
        expect(page.locator(".reason")).to_contain_text("Reader orders/0 is lost")
        expect(row(page, "Readers and leases", "orders/0")).to_contain_text("ended")


def test_an_admin_evicts_a_reader_after_a_question(browser: Browser, coordinator: CoordinatorProcess) -> None:
    shop(coordinator.url, "evict")
    with watched(browser, f"{coordinator.url}/#/groups/evict", SECRETS["admin"]) as page:
        page.get_by_role("button", name="Evict payments/0").click()
        dialog = page.get_by_role("dialog", name="Evict payments/0?")
        dialog.get_by_role("button", name="Cancel").click()
        expect(row(page, "Readers and leases", "payments/0")).to_be_visible()
        page.get_by_role("button", name="Evict payments/0").click()
        dialog.get_by_role("button", name="Evict").click()
        expect(page.get_by_text("payments/0 is evicted.")).to_be_visible()
        expect(page.locator("#sentence")).to_contain_text("Waiting for orders/0")


def test_an_admin_pauses_a_source_and_resumes_it(browser: Browser, coordinator: CoordinatorProcess) -> None:
    shop(coordinator.url, "pausing")
    with watched(browser, f"{coordinator.url}/#/groups/pausing", SECRETS["admin"]) as page:
        orders = row(page, "Sources", "orders")
        orders.get_by_role("button", name="Pause").click()
        page.get_by_label("Reason").fill("<b>bad</b> deploy")
        page.get_by_role("dialog").get_by_role("button", name="Pause").click()
        expect(orders).to_contain_text("paused by an operator")
        expect(orders).to_contain_text("by admin: <b>bad</b> deploy")
        expect(page.locator(".reason")).to_contain_text("admin has paused orders: <b>bad</b> deploy.")
        found = httpx.get(f"{coordinator.url}/v1/groups/pausing", headers=bearer("reader"), timeout=60).json()
        assert [(each["source"], each["by"]) for each in found["paused_sources"]] == [("orders", "admin")]
        entry = page.get_by_role("list", name="Journal").get_by_role("listitem").first
        expect(entry).to_contain_text("orders paused: an operator paused it (<b>bad</b> deploy)by admin")
        orders.get_by_role("button", name="Resume").click()
        page.get_by_role("dialog").get_by_role("button", name="Resume").click()
        expect(orders).to_contain_text("waits at the read limit")
        expect(orders.get_by_role("button", name="Pause")).to_be_visible()


def test_admin_changes_the_drift_and_nothing_else(browser: Browser, coordinator: CoordinatorProcess) -> None:
    shop(coordinator.url, "steer")
    with watched(browser, f"{coordinator.url}/#/groups/steer", SECRETS["admin"]) as page:
        expect(page.locator("#sentence")).to_contain_text("payments/0")
        page.get_by_role("button", name="Drift and mode").click()
        page.get_by_label("max_drift", exact=True).fill("10")
        page.get_by_label("Mode", exact=True).select_option("observe")
        page.get_by_role("button", name="Change").click()
        expect(page.get_by_text("mode observe: no reader waits")).to_be_visible()
    config = httpx.get(f"{coordinator.url}/v1/groups/steer", headers=bearer("admin"), timeout=60).json()["config"]
    assert {**config, **STEADY, "max_drift_ms": 10 * MINUTE, "mode": "observe"} == config


def test_a_change_over_another_ones_change_is_refused_in_words(
    browser: Browser, coordinator: CoordinatorProcess
) -> None:
    shop(coordinator.url, "raced")
    with watched(browser, f"{coordinator.url}/#/groups/raced", SECRETS["admin"]) as page:
        expect(page.locator("#sentence")).to_contain_text("payments/0")
        # the page must not learn of the other change before its own is sent
        page.route("**/v1/groups/raced?*", lambda route: route.abort())
        newer = {**STEADY, "max_drift_ms": 1}
        httpx.put(f"{coordinator.url}/v1/groups/raced", json=newer, headers=bearer("admin"), timeout=60)
        page.get_by_role("button", name="Drift and mode").click()
        page.get_by_role("button", name="Change").click()
        expect(page.get_by_role("alert")).to_contain_text("Another operator has changed the configuration")


@pytest.mark.long
def test_an_admin_forgets_a_group_by_typing_its_name(browser: Browser, coordinator: CoordinatorProcess) -> None:
    shop(coordinator.url, "forgotten")
    address = f"{coordinator.url}/v1/groups/forgotten"
    with watched(browser, f"{coordinator.url}/#/groups/forgotten", SECRETS["admin"]) as page:
        page.get_by_role("button", name="Delete").click()
        dialog = page.get_by_role("dialog", name="Delete this group?")
        dialog.get_by_label("Type the group's name").fill("another")
        dialog.get_by_role("button", name="Delete").click()
        expect(dialog).to_contain_text("the name differs")
        assert httpx.get(address, headers=bearer("reader"), timeout=60).status_code == 200
        dialog.get_by_label("Type the group's name").fill("forgotten")
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("forgotten is deleted.")).to_be_visible()
        expect(page.get_by_label("Find a group")).to_be_visible()
    assert httpx.get(address, headers=bearer("reader"), timeout=60).status_code == 404


@pytest.mark.long
def test_the_chart_tells_watermark_and_ceiling_as_they_move(browser: Browser, coordinator: CoordinatorProcess) -> None:
    _, payments = shop(coordinator.url, "charted")
    with watched(browser, f"{coordinator.url}/#/groups/charted", SECRETS["reader"]) as page:
        chart = page.get_by_role("img", name=re.compile("^Event time over wall time"))
        expect(chart).to_have_attribute("aria-label", re.compile("read limit .*00:05:00"))
        payments.report(T0 + 3 * MINUTE)
        expect(chart).to_have_attribute("aria-label", re.compile("read limit .*00:08:00"))
        chart.focus()
        page.keyboard.press("Home")
        expect(chart).not_to_have_attribute("aria-label", re.compile("read limit .*00:08:00"))
        page.keyboard.press("End")
        expect(chart).to_have_attribute("aria-label", re.compile("read limit .*00:08:00"))


@pytest.mark.long
def test_an_admin_of_other_groups_is_refused_nicely(browser: Browser, coordinator: CoordinatorProcess) -> None:
    shop(coordinator.url, "foreign")
    with watched(browser, f"{coordinator.url}/#/groups/foreign", SECRETS["boss"]) as page:
        expect(page.locator("#sentence")).to_contain_text("this request needs a token for the group 'foreign'")


@pytest.mark.long
def test_wrong_token_is_said_and_a_right_one_lasts_for_the_tab(
    browser: Browser, coordinator: CoordinatorProcess
) -> None:
    with watched(browser, coordinator.url, "lockgate_wrong-0123456789abcdef") as page:
        expect(page.get_by_role("alert")).to_contain_text("rejects this token")
        page.get_by_label("Token").fill(SECRETS["reader"])
        page.keyboard.press("Enter")
        expect(page.get_by_text("reader · read")).to_be_visible()
        page.reload()
        expect(page.get_by_text("reader · read")).to_be_visible()
        assert page.context.cookies() == []
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0


def test_page_says_that_its_coordinator_died_and_connects_again(browser: Browser, tokens: Path) -> None:
    with CoordinatorProcess(options=["--tokens", str(tokens)]) as first:
        port = int(first.url.rpartition(":")[2])
        shop(first.url, "killed")
        with watched(browser, f"{first.url}/#/groups/killed", SECRETS["reader"]) as page:
            expect(page.get_by_text("Live", exact=True)).to_be_visible()
            expect(page.locator("#sentence")).to_contain_text("payments/0")
            first.kill()
            expect(page.locator("#link")).to_contain_text("Connection lost")
            expect(page.locator("#sentence")).to_contain_text("payments/0")
            with CoordinatorProcess(port=port, options=["--tokens", str(tokens)]) as second:
                HttpReader(second.url, "killed", "refunds", headers=bearer("reporter")).report(T0)
                expect(page.get_by_text("Live", exact=True)).to_be_visible()
                expect(page.locator("#sentence")).to_contain_text("refunds/0")


@pytest.mark.long
def test_a_group_that_is_not_there_is_said_and_shown_once_it_is(
    browser: Browser, coordinator: CoordinatorProcess
) -> None:
    with watched(browser, f"{coordinator.url}/#/groups/later", SECRETS["reader"]) as page:
        expect(page.locator("#sentence")).to_contain_text("no group 'later'")
        expect(page.locator("#link")).to_have_text("Live")
        shop(coordinator.url, "later")
        expect(page.locator("#sentence")).to_contain_text("payments/0")


@pytest.mark.long
def test_the_keyboard_alone_finds_a_group_and_a_cell_of_the_heat_map(
    browser: Browser, coordinator: CoordinatorProcess
) -> None:
    shop(coordinator.url, "keys")
    with watched(browser, coordinator.url, SECRETS["reader"]) as page:
        page.get_by_label("Find a group").press_sequentially("keys")
        expect(page.locator("tbody tr")).to_have_count(1)
        for _ in range(3):  # the table's region, then the link in it
            if page.evaluate("document.activeElement.textContent") == "keys":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        heat = page.get_by_role("group", name=re.compile("Drift of 3 partitions"))
        heat.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".heat + .under output")).to_contain_text("orders")
        page.keyboard.press("ArrowDown")
        expect(page.locator(".heat + .under output")).to_contain_text("orders-0 of orders/0 at")
        expect(page.locator(".heat + .under output")).to_contain_text("6 min above the group's watermark; paused")


@pytest.mark.long
@pytest.mark.parametrize("wanted", ["light", "dark"])
def test_the_page_takes_the_colours_of_the_system_and_remembers_a_choice(
    browser: Browser, coordinator: CoordinatorProcess, wanted: str
) -> None:
    other = {"light": "dark", "dark": "light"}[wanted]
    with watched(browser, coordinator.url, SECRETS["reader"], color_scheme=wanted) as page:
        expect(page.locator("html")).to_have_attribute("data-theme", wanted)
        page.get_by_role("button", name=f"Use {other} colours").click()
        expect(page.locator("html")).to_have_attribute("data-theme", other)
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", other)
