"""A command takes effect once, where the answer to it is lost: on the way from Redis, or on the way
to the client.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from lockgate_http.calls.client import CoordinatorClient
from lockgate_spark import Coordinator
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.link import Link
from lockgate_testbed.redis import RedisServer

GROUP = "/v1/groups/g"
READERS = f"{GROUP}/sources/orders/readers"
HEAD = b"max_drift_ms"
"""Part of each commit to Redis, and of no other command."""


@pytest.fixture
def key(topic: str) -> dict[str, str]:
    """Return the header with a key of the test's own."""
    return {"Idempotency-Key": topic}


@pytest.fixture(scope="module", params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def coordinator(request: pytest.FixtureRequest) -> Iterator[tuple[httpx.Client, Link]]:
    store = "memory://" if request.param == "memory" else request.getfixturevalue("redis_server").url
    with (
        CoordinatorProcess(store) as process,
        Link(int(process.url.rpartition(":")[2])) as link,
        httpx.Client(base_url=f"http://127.0.0.1:{link.port}", timeout=60) as http,
    ):
        yield http, link


@pytest.fixture(scope="module")
def behind_redis(redis_server: RedisServer) -> Iterator[tuple[httpx.Client, Link]]:
    with (
        Link(urlsplit(redis_server.url).port or 0) as link,
        CoordinatorProcess(f"redis://127.0.0.1:{link.port}/0") as coordinator,
        httpx.Client(base_url=coordinator.url, timeout=60) as http,
    ):
        yield http, link


@pytest.fixture
def to_redis(behind_redis: tuple[httpx.Client, Link]) -> tuple[httpx.Client, Link]:
    """Return a client of a coordinator, and the link between the coordinator and its Redis, which
    has all scripts: else the lost answer would be that it lacks one.
    """
    http, _ = behind_redis
    http.put(GROUP, json={}).raise_for_status()
    http.delete(GROUP).raise_for_status()
    return behind_redis


@pytest.fixture
def to_client(coordinator: tuple[httpx.Client, Link]) -> tuple[httpx.Client, Link]:
    """Return a client of a coordinator over either store, and the link between them."""
    coordinator[0].delete(GROUP)
    return coordinator


def registered(http: httpx.Client) -> int:
    return int(http.post(READERS, json={"subtask": 0, "owner": "me"}).raise_for_status().json()["epoch"])


@pytest.mark.redis
def test_unanswered_configuration_is_no_conflict_with_itself(
    to_redis: tuple[httpx.Client, Link],
) -> None:
    http, link = to_redis
    link.lose_answer(HEAD)
    made = http.put(GROUP, json={"max_drift_ms": 7}, headers={"If-None-Match": "*"})
    assert (link.has_lost, made.status_code) == (True, 201)
    link.lose_answer(HEAD)
    changed = http.put(GROUP, json={"max_drift_ms": 8}, headers={"If-Match": made.headers["ETag"]})
    assert (link.has_lost, changed.status_code) == (True, 200)
    assert (changed.headers["ETag"], changed.json()["max_drift_ms"]) == (http.get(GROUP).headers["ETag"], 8)


@pytest.mark.redis
@pytest.mark.parametrize("forced", [False, True])
def test_a_reader_whose_leaving_was_not_answered_has_left(to_redis: tuple[httpx.Client, Link], forced: bool) -> None:
    http, link = to_redis
    epoch = registered(http)
    link.lose_answer(HEAD)
    left = http.delete(f"{READERS}/0", params={"force": "true"} if forced else {"epoch": epoch})
    assert (link.has_lost, left.status_code) == (True, 204)
    assert http.get(GROUP).json()["readers"] == 0


@pytest.mark.redis
def test_a_group_whose_deletion_was_not_answered_is_deleted(to_redis: tuple[httpx.Client, Link]) -> None:
    http, link = to_redis
    registered(http)
    link.lose_answer(b"\r\n3600000\r\n")  # for how long a deletion keeps the version
    gone = http.delete(GROUP)
    assert (link.has_lost, gone.status_code, http.get(GROUP).status_code) == (True, 204, 404)


def sent_twice(http: httpx.Client, link: Link, method: str, path: str, **request: Any) -> httpx.Response:
    """The answer to a request whose first answer was lost."""
    link.lose_answer(f"{method} {path}".encode())
    with pytest.raises(httpx.TransportError):
        http.request(method, path, **request)
    assert link.has_lost
    return http.request(method, path, **request)


def deletions(http: httpx.Client) -> float:
    """How many groups the coordinator has counted as deleted."""
    counted = [line for line in http.get("/metrics").text.splitlines() if 'kind="group_deleted"' in line]
    return sum(float(line.split()[-1]) for line in counted)


def test_configuration_sent_again_gets_the_first_answer(
    to_client: tuple[httpx.Client, Link], key: dict[str, str]
) -> None:
    http, link = to_client
    made = sent_twice(http, link, "PUT", GROUP, json={"max_drift_ms": 7}, headers={"If-None-Match": "*", **key})
    assert (made.status_code, made.json()["max_drift_ms"]) == (201, 7)
    match = {"If-Match": made.headers["ETag"], **key}
    changed = sent_twice(http, link, "PUT", GROUP, json={"max_drift_ms": 8}, headers=match)
    assert (changed.status_code, changed.json()["max_drift_ms"]) == (200, 8)
    http.put(GROUP, json={"max_drift_ms": 9}).raise_for_status()
    repeated = http.put(GROUP, json={"max_drift_ms": 8}, headers=match)
    assert (repeated.status_code, repeated.headers["ETag"]) == (200, changed.headers["ETag"])
    assert http.get(GROUP).json()["config"]["max_drift_ms"] == 9


def test_a_key_stands_for_one_request_alone(to_client: tuple[httpx.Client, Link], key: dict[str, str]) -> None:
    http, _ = to_client
    created = {"If-None-Match": "*"}
    assert http.put(GROUP, json={"max_drift_ms": 7}, headers={**created, **key}).status_code == 201
    assert http.put(GROUP, json={"max_drift_ms": 8}, headers={**created, **key}).status_code == 412
    assert http.put(GROUP, json={"max_drift_ms": 7}, headers={**created, "Idempotency-Key": "b"}).status_code == 412
    assert http.put(GROUP, json={}, headers={"Idempotency-Key": "two words"}).status_code == 422


def test_a_reader_that_leaves_again_with_the_same_key_has_left(
    to_client: tuple[httpx.Client, Link], key: dict[str, str]
) -> None:
    http, link = to_client
    path = f"{READERS}/0?epoch={registered(http)}"
    assert sent_twice(http, link, "DELETE", path, headers=key).status_code == 204
    newer = registered(http)  # a successor: the leaving of its predecessor does not concern it
    assert http.delete(path, headers=key).status_code == 204
    assert http.delete(path).status_code == 409
    assert http.get(f"{GROUP}/sources/orders").json()["readers"][0]["epoch"] == newer


def test_deletion_sent_again_with_its_key_gets_the_first_answer(
    to_client: tuple[httpx.Client, Link], key: dict[str, str]
) -> None:
    http, link = to_client
    registered(http)
    before = deletions(http)
    assert sent_twice(http, link, "DELETE", GROUP, headers=key).status_code == 204
    registered(http)  # a successor: the deletion of its predecessor does not concern it
    assert http.delete(GROUP, headers=key).status_code == 204
    assert http.get(GROUP).json()["readers"] == 1
    assert deletions(http) == before + 1
    assert http.delete(GROUP, headers={"Idempotency-Key": "b"}).status_code == 204
    assert [http.delete(GROUP, headers=again).status_code for again in ({}, {"Idempotency-Key": "c"})] == [404] * 2


def test_a_query_s_reader_leaves_although_the_answer_is_lost(to_client: tuple[httpx.Client, Link]) -> None:
    http, link = to_client
    epoch = registered(http)
    with CoordinatorClient(Coordinator(str(http.base_url), group="g", timeout="1 minute")) as client:
        link.lose_answer(b"DELETE ")
        client.leave("orders", 0, epoch)
    assert link.has_lost
    assert http.get(GROUP).json()["readers"] == 0
