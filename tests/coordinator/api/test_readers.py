from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX, MIN

READERS = "/v1/groups/g/sources/a/readers"
WATERMARKS = "/v1/groups/g/sources/a/watermarks"


async def registered(api: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    response = await api.post(READERS, json={"subtask": 0} | more)
    assert response.status_code == 201
    answer: dict[str, Any] = response.json()
    return answer


async def test_registering_creates_the_group_with_what_the_reader_was_last_told(api: httpx.AsyncClient) -> None:
    answer = await registered(api, config={"lease_ms": 777, "update_interval_ms": 55, "expected_sources": ["a", "b"]})
    assert (answer["lease_ms"], answer["update_interval_ms"]) == (777, 55)
    assert answer["alignment"]["max_desired_watermark"] == MIN
    assert (await api.get("/v1/groups/g")).json()["config"]["expected_sources"] == ["a", "b"]


async def test_a_registration_without_a_configuration_makes_a_group_of_defaults_and_changes_none_that_is_there(
    api: httpx.AsyncClient,
) -> None:
    assert (await registered(api))["lease_ms"] == 30_000
    assert (await registered(api, config={"lease_ms": 777}))["lease_ms"] == 30_000


async def test_a_newer_registration_fences_the_older_one(api: httpx.AsyncClient) -> None:
    old, new = (await registered(api))["epoch"], (await registered(api))["epoch"]
    assert new > old
    refused = await api.post(WATERMARKS, json={"subtask": 0, "epoch": old, "watermark": 5})
    assert (refused.status_code, refused.json()["type"], refused.json()["current_epoch"]) == (
        409,
        "urn:lockgate:stale-epoch",
        new,
    )
    assert (await api.post(WATERMARKS, json={"subtask": 0, "epoch": new + 1, "watermark": 5})).status_code == 409
    assert (await api.get("/v1/groups/g/alignment")).json()["group_watermark"] == MIN
    assert (await api.post(WATERMARKS, json={"subtask": 0, "epoch": new, "watermark": 5})).status_code == 200


async def test_another_owner_is_told_who_is_busy_and_may_take_over(api: httpx.AsyncClient) -> None:
    await registered(api, owner="production")
    refused = await api.post(READERS, json={"subtask": 0, "owner": "staging"})
    assert (refused.status_code, refused.json()["type"], refused.json()["owner"]) == (
        409,
        "urn:lockgate:reader-busy",
        "production",
    )
    await registered(api, owner="staging", takeover=True)


async def test_a_presented_ceiling_holds_a_new_group(api: httpx.AsyncClient) -> None:
    answer = await registered(api, ceiling=1_000)
    assert answer["alignment"]["max_desired_watermark"] == 1_000
    event = (await api.post(WATERMARKS, json={"subtask": 0, "epoch": answer["epoch"], "watermark": 990})).json()
    assert (event["group_watermark"], event["max_desired_watermark"]) == (990, 1_000)


async def test_a_reader_leaves_with_its_epoch_and_no_longer_counts(api: httpx.AsyncClient) -> None:
    epoch = (await registered(api))["epoch"]
    await api.post(WATERMARKS, json={"subtask": 0, "epoch": epoch, "watermark": 5})
    assert (await api.delete(f"{READERS}/0", params={"epoch": epoch - 1})).status_code == 409
    assert (await api.delete(f"{READERS}/0", params={"epoch": epoch})).status_code == 204
    assert (await api.get("/v1/groups/g/alignment")).json()["max_desired_watermark"] == MAX
    assert (await api.delete(f"{READERS}/0", params={"epoch": epoch})).status_code == 404


async def test_an_operator_evicts_without_epoch(api: httpx.AsyncClient) -> None:
    await registered(api)
    assert (await api.delete(f"{READERS}/0", params={"force": "true"})).status_code == 204
    assert (await api.delete(f"{READERS}/0", params={"force": "true"})).status_code == 404


@pytest.mark.parametrize("query", [{}, {"epoch": "0"}, {"epoch": str(2**63)}, {"epoch": "1", "force": "true"}])
async def test_leaving_says_by_which_right(api: httpx.AsyncClient, query: dict[str, str]) -> None:
    await registered(api)
    refused = await api.delete(f"{READERS}/0", params=query)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:lockgate:invalid-request")


async def test_a_leave_of_an_unknown_group_is_a_problem(api: httpx.AsyncClient) -> None:
    assert (await api.delete(f"{READERS}/0", params={"epoch": 1})).json()["type"] == "urn:lockgate:unknown-group"
