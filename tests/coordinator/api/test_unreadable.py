"""A group that cannot be read takes nothing else along: not the list, not `/metrics`, not the other
groups. It can be deleted.
"""

from collections.abc import AsyncIterator
from contextlib import closing
from io import StringIO
from typing import Any

import httpx
import pytest
from redis import Redis
from rich.console import Console

from lockgate_cli.tables import groups_table
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import keys, open_store
from lockgate_testbed.redis import RedisServer
from support.in_process import client_of

pytestmark = pytest.mark.redis


@pytest.fixture
async def api(redis_server: RedisServer) -> AsyncIterator[httpx.AsyncClient]:
    """A service that has not seen its groups yet: a, sick and z."""
    with closing(Redis.from_url(redis_server.url)) as redis:
        redis.flushall()
        for fresh in (False, True):
            store = open_store(redis_server.url)
            async with client_of(create_app(store)) as client:
                if fresh:
                    yield client
                else:
                    for name in ("a", "sick", "z"):
                        await client.put(f"/v1/groups/{name}", json={})
                        await client.post(f"/v1/groups/{name}/sources/s/readers", json={"subtask": 0})
                    redis.hset(keys.state("sick"), keys.reader_field(("s", 0)), "damaged")
            await store.close()
        redis.flushall()


async def test_list_and_metrics_have_the_others_and_name_the_unreadable_one(api: httpx.AsyncClient) -> None:
    page: Any = (await api.get("/v1/groups")).raise_for_status().json()
    assert [item["group"] for item in page["items"]] == ["a", "z"]
    (sick,) = page["unreadable"]
    assert sick["group"] == "sick"
    assert "damaged" in sick["reason"]
    assert "lockgate delete" in sick["remedy"]
    page = (await api.get("/v1/groups", params={"limit": 2})).json()
    assert ([item["group"] for item in page["items"]], len(page["unreadable"]), page["next"]) == (["a"], 1, "sick")
    assert "unreadable" not in (await api.get("/v1/groups", params={"after": "sick"})).json()
    text = (await api.get("/metrics")).text
    assert "lockgate_groups_unreadable 1.0" in text
    assert "lockgate_store_up 1.0" in text
    for name in ("a", "z"):
        assert f'lockgate_group_revision{{group="{name}"}}' in text


async def test_its_own_requests_are_refused_with_what_to_do_and_others_are_not(api: httpx.AsyncClient) -> None:
    for method, path, body in (
        ("GET", "/v1/groups/sick", None),
        ("GET", "/v1/groups/sick/alignment", None),
        ("POST", "/v1/groups/sick/sources/s/readers", {"subtask": 1}),
        ("PUT", "/v1/groups/sick", {}),
    ):
        answer = await api.request(method, path, json=body)
        assert (answer.status_code, answer.json()["type"]) == (503, "urn:lockgate:unreadable-group"), path
        assert "lockgate delete" in answer.json()["remedy"]
        assert answer.headers["Retry-After"] == "10"
    assert (await api.get("/v1/groups/z")).status_code == 200


async def test_it_is_deleted_and_its_readers_build_it_again(api: httpx.AsyncClient) -> None:
    assert (await api.delete("/v1/groups/sick")).status_code == 204
    assert (await api.delete("/v1/groups/sick")).status_code == 404
    assert (await api.post("/v1/groups/sick/sources/s/readers", json={"subtask": 0})).status_code == 201
    assert "unreadable" not in (await api.get("/v1/groups")).json()


async def test_the_table_of_groups_says_which_one_cannot_be_read(api: httpx.AsyncClient) -> None:
    console = Console(width=200, file=StringIO())
    with console.capture() as capture:
        console.print(groups_table((await api.get("/v1/groups")).json()))
    text = capture.get()
    assert "sick cannot be read" in text
    assert "lockgate delete" in text
