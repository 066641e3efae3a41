"""The journal of a group, over REST."""

import json
from typing import Any

import httpx
import pytest

GROUP = "/v1/groups/g"
JOURNAL = f"{GROUP}/journal"


async def kinds(api: httpx.AsyncClient, wanted: int, **params: str) -> list[str]:
    """Return the kinds of the journal's entries, once there are so many: they are written after the
    answer.
    """
    while True:
        items = (await api.get(JOURNAL, params=params)).json()["items"]
        if len(items) >= wanted:
            return [item["kind"] for item in items]


async def changed(api: httpx.AsyncClient) -> None:
    await api.put(GROUP, json={})
    await api.post(f"{GROUP}/sources/a/readers", json={"subtask": 0})
    await api.put(f"{GROUP}/sources/a/pause", json={"reason": "the sink is away"})
    await api.delete(f"{GROUP}/sources/a/pause")


async def test_pages_follow_each_other_in_both_orders(api: httpx.AsyncClient) -> None:
    await changed(api)
    newest = await kinds(api, 4)
    for order, bound, expected in (("newest", "before", newest), ("oldest", "after", newest[::-1])):
        found, page = list[str](), {"next": ""}
        while page["next"] is not None:
            page = (await api.get(JOURNAL, params={"limit": 3, "order": order, bound: page["next"]})).json()
            found += [item["kind"] for item in page["items"]]  # type: ignore[index]
        assert found == expected


async def test_it_is_filtered_by_kind_and_source(api: httpx.AsyncClient) -> None:
    await changed(api)
    await api.post(f"{GROUP}/sources/b/readers", json={"subtask": 7})
    assert await kinds(api, 1, source="b") == ["reader_registered"]
    assert await kinds(api, 2, kind="source_paused,group_created") == ["source_paused", "group_created"]


async def test_lines_of_json_are_the_same_entries(api: httpx.AsyncClient) -> None:
    await changed(api)
    await kinds(api, 4)
    lines = (await api.get(JOURNAL, headers={"Accept": "application/x-ndjson"})).text.splitlines()
    assert [json.loads(line) for line in lines] == (await api.get(JOURNAL)).json()["items"]


@pytest.mark.parametrize(
    ("params", "field"), [({"kind": "rain"}, "kind"), ({"after": "x"}, "after"), ({"order": "up"}, "order")]
)
async def test_a_question_that_is_wrong_is_refused(api: httpx.AsyncClient, params: Any, field: str) -> None:
    await api.put(GROUP, json={})
    refused = await api.get(JOURNAL, params=params)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)


async def test_the_journal_goes_with_its_group(api: httpx.AsyncClient) -> None:
    await changed(api)
    await kinds(api, 4)
    await api.delete(GROUP)
    assert (await api.get(JOURNAL)).status_code == 404
    await api.put(GROUP, json={"max_drift_ms": 7})
    assert await kinds(api, 1) == ["group_created"]
