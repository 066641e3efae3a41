"""The dashboard at the address of the compose file's proxy, with two coordinators over one Redis
behind it.
"""

from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.browser import UNHURRIED_MS, watched
from support.http_readers import HttpReader
from support.proxied import HAPROXY, MISSING, proxied

T0 = 1_767_225_600_000
MINUTE = 60_000

expect.set_options(timeout=UNHURRIED_MS)


@pytest.mark.long
@pytest.mark.redis
@pytest.mark.skipif(HAPROXY is None, reason=MISSING)
def test_the_page_lives_on_whichever_of_two_coordinators_dies(
    browser: Browser, redis_server: RedisServer, tmp_path: Path
) -> None:
    options = ["--allow-unauthenticated"]
    with (
        CoordinatorProcess(store=redis_server.url, options=options) as first,
        CoordinatorProcess(store=redis_server.url, options=options) as second,
        proxied(tmp_path, first, second) as url,
    ):
        httpx.put(f"{url}/v1/groups/proxied", json={"lease_ms": 600_000}, timeout=60).raise_for_status()
        reader = HttpReader(url, "proxied", "orders")
        reader.report(T0)
        with watched(browser, f"{url}/#/groups/proxied") as page:
            expect(page.locator("#sentence")).to_contain_text("2026-01-01T00:00:00Z")
            for number, (dies, minute) in enumerate(((first, 1), (second, 2))):
                dies.kill()
                reader.report(T0 + minute * MINUTE)
                expect(page.locator("#sentence")).to_contain_text(f"2026-01-01T00:0{minute}:00Z")
                expect(page.get_by_text("Live", exact=True)).to_be_visible()
                if not number:
                    dies.start()
            page.get_by_role("link", name="Groups").click()
            expect(page.get_by_text("Answered by")).to_be_visible()
