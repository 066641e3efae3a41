"""A group whose readers say as much of themselves as they may, or more, can be read and deleted."""

from typing import Any

import httpx
import pytest

from lockgate.group.group import create
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent, ReportedWatermarkEvent, SplitReport
from lockgate_coordinator.app import create_app
from lockgate_coordinator.service.inspection import PAGE_SIZE
from lockgate_coordinator.store import Store, open_store
from lockgate_coordinator.store.connections import Connections
from support.in_process import client_of
from support.turns import register, report

GROUP = "/v1/groups/g"
MIB = 1 << 20


async def filled(store: Store, readers: int, size: int, splits: int = 0) -> None:
    """Written without the service's limits, as by an older release."""
    for subtask in range(readers):
        loaded = await store.load("g")
        group = loaded.group or create("g", GroupConfig(lease_ms=600_000), loaded.now_ms, floor=loaded.version)
        event = ReaderRegistrationEvent(subtask=subtask, attributes={"x": "x" * size})
        group = register(group, "a", event, loaded.now_ms)
        if splits:
            named = {f"topic-{n}": SplitReport(watermark=1) for n in range(splits)}
            epoch = group.readers["a", subtask].epoch
            said = ReportedWatermarkEvent(subtask=subtask, epoch=epoch, watermark=1, splits=named)
            group = report(group, "a", said, loaded.now_ms)
        assert await store.commit(loaded, group) is None


async def readers_in_pages(api: httpx.AsyncClient, path: str) -> tuple[list[int], int]:
    """Return the subtasks of all pages, and the size of the longest page."""
    found, longest, more = list[int](), 0, dict[str, Any]()
    while True:
        answer = (await api.get(path, params={"limit": 1_000, **more})).raise_for_status()
        page, longest = answer.json(), max(longest, len(answer.content))
        sources = page.get("sources", [page])
        found += [reader["subtask"] for source in sources for reader in source["readers"]]
        if page["next"] is None:
            return found, longest
        more = {"after": page["next"]}


async def test_forty_readers_of_eight_mebibytes_are_answered_and_deleted(
    store: Store, store_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(store, 40, 8 * MIB)
    sizes, run = list[int](), Connections.run

    async def measured(self: Connections, *args: Any, **more: Any) -> Any:
        answer = await run(self, *args, **more)
        sizes.append(len(str(answer)))
        return answer

    monkeypatch.setattr(Connections, "run", measured)
    restarted = open_store(store_address) if store.shared else store
    async with client_of(create_app(restarted), timeout=120) as api:
        found, longest = await readers_in_pages(api, GROUP)
        assert found == list(range(40))
        assert longest < 9 * MIB, "one reader a page"
        assert "g" in [item["group"] for item in (await api.get("/v1/groups")).json()["items"]]
        assert 'lockgate_group_readers{group="g",state="registered"} 40' in (await api.get("/metrics")).text
        assert max(sizes, default=0) < 10 * MIB, "no command of Redis answers with more than one record and one part"
        assert (await api.delete(GROUP)).status_code == 204
        assert (await api.get(GROUP)).status_code == 404
    if restarted is not store:
        await restarted.close()


async def test_page_of_readers_ends_before_it_has_many_megabytes(api: httpx.AsyncClient, store: Store) -> None:
    await filled(store, 12, 400_000, splits=3_000)
    for path in (GROUP, f"{GROUP}/sources/a"):
        found, longest = await readers_in_pages(api, path)
        assert found == list(range(12))
        assert longest < 1.2 * PAGE_SIZE
