"""Sources that an operator pauses and resumes, over REST."""

from typing import Any

import httpx
import pytest

GROUP = "/v1/groups/g"
PAUSE = f"{GROUP}/sources/a/pause"
READERS = f"{GROUP}/sources/a/readers"
WATERMARKS = f"{GROUP}/sources/a/watermarks"


async def reader(api: httpx.AsyncClient) -> int:
    """Return the epoch of a reader of source a, which stands at 5."""
    epoch: int = (await api.post(READERS, json={"subtask": 0})).json()["epoch"]
    await api.post(WATERMARKS, json={"subtask": 0, "epoch": epoch, "watermark": 5})
    return epoch


async def test_a_pause_is_in_every_answer_until_the_source_is_resumed(api: httpx.AsyncClient) -> None:
    epoch = await reader(api)
    before = (await api.get(f"{GROUP}/alignment")).json()
    assert before["paused_sources"] == []
    paused = (await api.put(PAUSE, json={"reason": "the sink is away"})).json()["paused"]
    assert (paused["source"], paused["by"], paused["reason"]) == ("a", None, "the sink is away")
    wire = [{"source": "a", "at": paused["at"], "by": None, "reason": "the sink is away"}]
    answer = (await api.post(WATERMARKS, json={"subtask": 0, "epoch": epoch, "watermark": 5})).json()
    assert (answer["paused_sources"], answer["revision"] > before["revision"]) == (wire, True)
    assert (await api.get(f"{GROUP}/alignment", params={"after": before["revision"]})).json() == answer
    group = (await api.get(GROUP)).json()
    assert (group["paused_sources"], group["sources"][0]["paused"]) == ([paused], paused)
    assert (await api.get(f"{GROUP}/sources/a")).json()["paused"] == paused
    assert (await api.delete(PAUSE)).status_code == 204
    assert (await api.get(f"{GROUP}/alignment")).json()["paused_sources"] == []
    assert (await api.get(GROUP)).json()["paused_sources"] == []


async def test_both_may_be_repeated(api: httpx.AsyncClient) -> None:
    await reader(api)
    first = (await api.put(PAUSE, json={"reason": "one"})).json()
    assert (await api.put(PAUSE, json={"reason": "two"})).json() == first
    assert [(await api.delete(PAUSE)).status_code for _ in range(2)] == [204, 204]


async def test_a_repetition_under_the_same_key_does_not_pause_a_source_that_was_resumed(api: httpx.AsyncClient) -> None:
    await reader(api)
    key = {"Idempotency-Key": "once"}
    await api.put(PAUSE, json={}, headers=key)
    await api.delete(PAUSE)
    again = await api.put(PAUSE, json={}, headers=key)
    assert (again.status_code, again.json()["paused"]) == (200, None)


async def test_a_source_or_group_that_is_not_there_is_named(api: httpx.AsyncClient) -> None:
    assert (await api.put(PAUSE, json={})).json()["type"] == "urn:lockgate:unknown-group"
    await reader(api)
    other = await api.put(f"{GROUP}/sources/other/pause", json={})
    assert (other.status_code, other.json()["type"]) == (404, "urn:lockgate:unknown-source")


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"reason": "x" * 501}, "must have 500 characters at most, not 501"),
        ({"reason": 7}, "must be a string, not an integer"),
        ({"why": "x"}, "is unknown; the known fields are reason"),
        ([], "must be an object, not a list"),
    ],
)
async def test_a_body_that_is_no_pause_is_refused(api: httpx.AsyncClient, body: Any, detail: str) -> None:
    await reader(api)
    refused = await api.put(PAUSE, json=body)
    assert (refused.status_code, refused.json()["errors"][0]["detail"]) == (422, detail)
    assert (await api.get(GROUP)).json()["paused_sources"] == []
