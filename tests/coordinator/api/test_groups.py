"""What tests/protocol/golden/exchanges.json has no example of: conditions, names and rights."""

import httpx
import pytest

GROUP = "/v1/groups/g"
READERS = f"{GROUP}/sources/a/readers"


async def test_if_match_replaces_only_what_was_read(api: httpx.AsyncClient) -> None:
    assert (await api.put(GROUP, json={}, headers={"If-Match": "*"})).status_code == 412
    await api.put(GROUP, json={})
    read = (await api.get(GROUP)).headers["etag"]
    statuses = [
        (await api.put(GROUP, json={"lease_ms": 100}, headers={"If-Match": read})).status_code for _ in range(2)
    ]
    assert statuses == [200, 412]


@pytest.mark.parametrize("name", ["%2e", "%2e%2e"])
async def test_no_route_takes_a_step_of_a_path_for_a_name(api: httpx.AsyncClient, name: str) -> None:
    reader, report = {"subtask": 0}, {"subtask": 0, "epoch": 1, "watermark": 0}
    await api.post(READERS, json=reader)
    for path, methods in (await api.get("/openapi.json")).json()["paths"].items():
        for method in methods:
            for field in (each for each in ("{group}", "{source}") if each in path):
                named = path.replace(field, name).format(group="g", source="a", subtask=0)
                for body in (reader, report, {"reports": []}, {}):
                    assert (await api.request(method, named, json=body)).status_code == 422, (method, named)
    assert [each["group"] for each in (await api.get("/v1/groups")).json()["items"]] == ["g"]


@pytest.mark.parametrize("query", [{}, {"epoch": "0"}, {"epoch": str(2**63)}, {"epoch": "1", "force": "true"}])
async def test_leaving_says_by_which_right(api: httpx.AsyncClient, query: dict[str, str]) -> None:
    await api.post(READERS, json={"subtask": 0})
    refused = await api.delete(f"{READERS}/0", params=query)
    assert (refused.status_code, refused.json()["type"]) == (422, "urn:lockgate:invalid-request")
