from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX, MIN

DEFAULTS = {
    "max_drift_ms": 300_000,
    "update_interval_ms": 1_000,
    "lease_ms": 30_000,
    "on_lost_reader": "exclude",
    "mode": "enforce",
    "catch_up": "joint",
    "expected_sources": [],
    "max_wait_ms": None,
    "on_max_wait": "alarm",
}


def problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, body["status"], body["type"]) == (status, status, f"urn:lockgate:{kind}")
    assert body["instance"] == response.request.url.path
    assert body["title"]
    assert body["detail"]
    return body


async def test_a_put_creates_with_defaults_then_replaces(api: httpx.AsyncClient) -> None:
    created = await api.put("/v1/groups/g", json={"max_drift_ms": 2**53 + 1})
    assert (created.status_code, created.json()) == (201, DEFAULTS | {"max_drift_ms": 2**53 + 1})
    replaced = await api.put("/v1/groups/g", json={})
    assert (replaced.status_code, replaced.json()) == (200, DEFAULTS)
    assert replaced.headers["etag"] != created.headers["etag"]
    again = await api.put("/v1/groups/g", json={})
    assert (again.status_code, again.headers["etag"]) == (200, replaced.headers["etag"])


async def test_if_none_match_creates_only_what_is_not_there(api: httpx.AsyncClient) -> None:
    guard = {"If-None-Match": "*"}
    assert (await api.put("/v1/groups/g", json={}, headers=guard)).status_code == 201
    problem(await api.put("/v1/groups/g", json={"lease_ms": 100}, headers=guard), 412, "precondition-failed")
    assert (await api.get("/v1/groups/g")).json()["config"] == DEFAULTS


async def test_if_match_replaces_only_what_was_read(api: httpx.AsyncClient) -> None:
    problem(await api.put("/v1/groups/g", json={}, headers={"If-Match": "*"}), 412, "precondition-failed")
    await api.put("/v1/groups/g", json={})
    read = (await api.get("/v1/groups/g")).headers["etag"]
    assert (await api.put("/v1/groups/g", json={"lease_ms": 100}, headers={"If-Match": read})).status_code == 200
    problem(await api.put("/v1/groups/g", json={}, headers={"If-Match": read}), 412, "precondition-failed")


async def test_an_unknown_key_of_a_configuration_is_refused_and_nothing_is_created(api: httpx.AsyncClient) -> None:
    body = problem(await api.put("/v1/groups/g", json={"max_drift": 30_000, "lease_ms": 99}), 422, "invalid-request")
    assert [fault["field"] for fault in body["errors"]] == ["lease_ms", "max_drift"]
    problem(await api.get("/v1/groups/g"), 404, "unknown-group")


async def test_the_list_comes_a_page_at_a_time(api: httpx.AsyncClient) -> None:
    for name in "abc":
        await api.put(f"/v1/groups/{name}", json={})
    page = (await api.get("/v1/groups", params={"limit": 2})).json()
    assert ([item["group"] for item in page["items"]], page["next"]) == (["a", "b"], "b")
    page = (await api.get("/v1/groups", params={"limit": 2, "after": page["next"]})).json()
    assert ([item["group"] for item in page["items"]], page["next"]) == (["c"], None)


@pytest.mark.parametrize("limit", [0, 1001, "x"])
async def test_a_limit_out_of_range_is_a_problem_that_names_it(api: httpx.AsyncClient, limit: object) -> None:
    body = problem(await api.get("/v1/groups", params={"limit": str(limit)}), 422, "invalid-request")
    assert [fault["field"] for fault in body["errors"]] == ["limit"]


async def test_a_deleted_group_is_forgotten_and_its_successors_revision_is_higher(api: httpx.AsyncClient) -> None:
    await api.put("/v1/groups/g", json={})
    before = (await api.get("/v1/groups/g/alignment")).json()["revision"]
    assert (await api.delete("/v1/groups/g")).status_code == 204
    problem(await api.get("/v1/groups/g/alignment"), 404, "unknown-group")
    problem(await api.delete("/v1/groups/g"), 404, "unknown-group")
    await api.put("/v1/groups/g", json={})
    assert (await api.get("/v1/groups/g/alignment")).json()["revision"] > before


async def test_inspection_shows_readers_and_splits_with_drift_and_lease(api: httpx.AsyncClient) -> None:
    for source, watermark in (("a", 2**53 + 1), ("b", 2**53 + 8)):
        epoch = (await api.post(f"/v1/groups/g/sources/{source}/readers", json={"subtask": 3, "owner": "q"})).json()[
            "epoch"
        ]
        splits = {"p-0": {"watermark": watermark + 1, "state": "paused", "position": 7}}
        report = {"subtask": 3, "epoch": epoch, "watermark": watermark, "splits": splits}
        await api.post(f"/v1/groups/g/sources/{source}/watermarks", json=report)
    (reader,) = (await api.get("/v1/groups/g/sources/b")).json()["readers"]
    assert (reader["subtask"], reader["owner"], reader["state"], reader["drift_ms"]) == (3, "q", "active", 7)
    assert 0 < reader["lease_left_ms"] <= 30_000
    assert (
        reader["splits"]["p-0"]["state"],
        reader["splits"]["p-0"]["drift_ms"],
        reader["splits"]["p-0"]["position"],
    ) == ("paused", 8, 7)
    group = (await api.get("/v1/groups/g")).json()
    assert [source["source"] for source in group["sources"]] == ["a", "b"]
    assert (group["group_watermark"], group["alignment"]["group_watermark"]) == (2**53 + 1, 2**53 + 1)
    problem(await api.get("/v1/groups/g/sources/c"), 404, "unknown-source")


async def test_iso_strings_stand_next_to_the_numbers(api: httpx.AsyncClient) -> None:
    await api.put("/v1/groups/g", json={})
    group = (await api.get("/v1/groups/g")).json()
    assert (group["group_watermark"], group["group_watermark_iso"]) == (MIN, "MIN")
    assert (group["max_desired_watermark"], group["max_desired_watermark_iso"]) == (MAX, "MAX")
    assert group["created_at_iso"].startswith("20")


@pytest.mark.parametrize("path", ["/v1/groups/a%20b", "/v1/groups/" + "x" * 256, "/v1/groups/g/sources/%C3%A4"])
async def test_a_name_that_is_none_is_a_problem(api: httpx.AsyncClient, path: str) -> None:
    assert (await api.get(path)).status_code == 422


@pytest.mark.parametrize("name", ["%2e", "%2e%2e"])
async def test_no_route_takes_a_step_of_a_path_for_a_name(api: httpx.AsyncClient, name: str) -> None:
    reader, report = {"subtask": 0}, {"subtask": 0, "epoch": 1, "watermark": 0}
    await api.post("/v1/groups/g/sources/a/readers", json=reader)
    for path, methods in (await api.get("/openapi.json")).json()["paths"].items():
        for method in methods:
            for field in (each for each in ("{group}", "{source}") if each in path):
                named = path.replace(field, name).format(group="g", source="a", subtask=0)
                for body in (reader, report, {"reports": []}, {}):
                    assert (await api.request(method, named, json=body)).status_code == 422, (method, named)
    assert [each["group"] for each in (await api.get("/v1/groups")).json()["items"]] == ["g"]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v1/nothing", 404), ("PATCH", "/v1/groups/g", 405)])
async def test_a_request_without_a_route_is_a_problem_too(
    api: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    response = await api.request(method, path)
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, response.json()["status"], response.json()["type"]) == (status, status, "about:blank")
