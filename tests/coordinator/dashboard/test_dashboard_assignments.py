"""Who reads which split, in a real Chromium over a live coordinator."""

import httpx
from playwright.sync_api import Browser, expect

from lockgate.flink.splits import KafkaPartitionSplit
from lockgate.wire.split_codec import split_to_text
from lockgate_testbed.coordinator import CoordinatorProcess
from support.browser import UNHURRIED_MS, watched
from support.tokens import SECRETS, bearer

expect.set_options(timeout=UNHURRIED_MS)


def test_an_operator_sees_who_reads_which_split_and_where_it_stands(
    browser: Browser, coordinator: CoordinatorProcess
) -> None:
    source = "/v1/groups/splits/sources/enricher"
    with httpx.Client(base_url=coordinator.url, headers=bearer("admin"), timeout=60) as api:
        api.put("/v1/groups/splits", json={"update_interval_ms": 10, "lease_ms": 600_000}).raise_for_status()
        splits = [split_to_text(KafkaPartitionSplit("orders", partition, 41)) for partition in range(2)]
        api.put(f"{source}/splits", json={"splits": splits}).raise_for_status()
        epoch = api.post(f"{source}/readers", json={"subtask": 0}).json()["epoch"]
        with watched(browser, coordinator.url, SECRETS["reader"]) as page:
            page.get_by_role("link", name="splits", exact=True).click()
            table = page.get_by_role("group", name="Assigned partitions")
            expect(table.get_by_role("row").filter(has_text="orders-0")).to_contain_text("unassigned")
            while not api.post(f"{source}/readers/0/splits", json={"epoch": epoch, "held": []}).json()["add_splits"]:
                pass
            expect(table.get_by_role("row").filter(has_text="orders-1")).to_contain_text("enricher/0")
            expect(table.get_by_role("row").filter(has_text="orders-1")).to_contain_text("41")
            page.get_by_role("searchbox", name="Find a partition").last.fill("orders-0")
            expect(table.get_by_role("row").filter(has_text="orders-1")).to_have_count(0)
