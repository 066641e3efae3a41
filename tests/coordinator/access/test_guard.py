"""What the guard lets through, and what it answers, before the whole service."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from lockgate_coordinator.access.rules import OPEN, RULES
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore
from support.tokens import SECRETS, Clock, bearer

Service = Callable[..., httpx.AsyncClient]
READER = "/v1/groups/orders/sources/s/readers/0"


def test_every_route_of_the_service_has_a_rule() -> None:
    routes = {
        f"{method.upper()} {path}"
        for path, each in create_app(MemoryStore()).openapi()["paths"].items()
        for method in each
    }
    assert routes - {f"{method} {path}" for method, path in OPEN} <= RULES.keys()


@pytest.mark.parametrize(
    ("name", "method", "path", "status"),
    [
        ("", "GET", "/livez", 200),
        ("", "GET", "/readyz", 200),
        ("", "POST", "/livez", 401),
        ("", "GET", "/livez/", 401),
        ("", "GET", "/openapi.json", 401),
        ("", "GET", "/metrics", 401),
        ("", "GET", "/nowhere", 401),
        ("", "GET", "/v1/groups/orders", 401),
        ("reader", "GET", "/openapi.json", 200),
        ("reader", "GET", "/v1/groups", 200),
        ("reader", "GET", "/v1/groups/orders", 404),
        ("reader", "GET", "/v1/groups/orders/alignment/events", 404),
        ("reader", "GET", "/v1/groups/", 403),
        ("reader", "GET", "/nowhere", 403),
        ("reader", "POST", "/v1/groups/orders/watermarks", 403),
        ("reader", "DELETE", READER, 403),
        ("reporter", "POST", "/v1/groups/orders/watermarks", 422),
        ("reporter", "POST", "/v1/groups/orders/sources/s/progress", 422),
        ("reporter", "DELETE", f"{READER}?epoch=1", 404),
        ("reporter", "DELETE", f"{READER}?force=true", 403),
        ("reporter", "DELETE", f"{READER}?epoch=1&force=false", 404),
        ("reporter", "DELETE", f"{READER}?force=false&f%6Frce=true", 403),
        ("reporter", "PUT", "/v1/groups/orders", 403),
        ("reporter", "DELETE", "/v1/groups/orders", 403),
        ("orders", "GET", "/v1/groups/orders-eu", 404),
        ("orders", "GET", "/v1/groups/one", 404),
        ("orders", "GET", "/v1/groups/payments", 403),
        ("orders", "POST", "/v1/groups/payments/watermarks", 403),
        ("orders", "GET", "/v1/groups/orders%2F..%2Fpayments", 403),
        ("orders", "GET", "/metrics", 403),
        ("boss", "PUT", "/v1/groups/orders", 403),
        ("boss", "DELETE", "/v1/groups/one/sources/s/readers/0?force=true", 404),
        ("admin", "DELETE", f"{READER}?force=true", 404),
        ("admin", "GET", "/nowhere", 404),
        ("admin", "PATCH", "/v1/groups/orders", 405),
    ],
)
async def test_each_token_may_what_its_role_and_groups_allow(
    service: Service, name: str, method: str, path: str, status: int
) -> None:
    async with service() as api:
        answer = await api.request(
            method, path, headers=bearer(name), content=b"no json" if method in ("POST", "PUT") else None
        )
    assert answer.status_code == status


async def test_liveness_is_answered_without_a_token_or_a_route(service: Service) -> None:
    async with service() as api:
        api._transport.app.router.routes.clear()  # type: ignore[attr-defined]
        assert (await api.get("/livez")).json() == {"status": "live"}


async def test_a_refusal_is_a_problem_that_says_what_it_takes(service: Service) -> None:
    async with service() as api:
        unknown = await api.get("/v1/groups/orders", headers={"Authorization": "Bearer nobody's"})
        role = await api.put("/v1/groups/orders", headers=bearer("reporter"))
        group = await api.get("/v1/groups/payments", headers=bearer("orders"))
    for answer, kind in ((unknown, "unauthorized"), (role, "forbidden"), (group, "forbidden")):
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["type"] == f"urn:lockgate:{kind}"
        assert answer.json()["instance"].startswith("/v1/groups/")
    assert unknown.headers["WWW-Authenticate"] == "Bearer"
    assert "the role admin" in role.json()["detail"]
    assert "the group 'payments'" in group.json()["detail"]


async def test_two_authorization_headers_are_none(service: Service) -> None:
    headers = [("Authorization", f"Bearer {SECRETS['reader']}"), ("Authorization", f"Bearer {SECRETS['admin']}")]
    async with service() as api:
        assert (await api.get("/v1/groups", headers=headers)).status_code == 401


async def pages(api: httpx.AsyncClient, name: str, limit: int) -> list[list[str]]:
    found, after = list[list[str]](), ""
    while after is not None:
        page: dict[str, Any] = (
            await api.get("/v1/groups", params={"limit": limit, "after": after}, headers=bearer(name))
        ).json()
        found.append([item["group"] for item in page["items"]])
        after = page["next"]
    return found


async def test_the_list_holds_the_tokens_groups_in_full_pages(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lockgate_coordinator.api.groups.NAMES_AT_ONCE", 2)
    async with service() as api:
        for group in ("a", "b", "c", "one", "one-more", "orders-1", "orders-2", "orders-3", "payments", "z"):
            await api.put(f"/v1/groups/{group}", json={}, headers=bearer("admin"))
        assert await pages(api, "orders", 3) == [["one", "orders-1", "orders-2"], ["orders-3"]]
        assert await pages(api, "orders", 2) == [["one", "orders-1"], ["orders-2", "orders-3"]]
        assert await pages(api, "boss", 1) == [["one"]]
        assert [len(page) for page in await pages(api, "reader", 4)] == [4, 4, 2]


async def test_a_token_over_its_rate_is_429_alone_until_its_retry_after(service: Service, clock: Clock) -> None:
    async with service(rate_limit=1) as api:
        for _ in range(2):
            assert (await api.get("/v1/groups", headers=bearer("reader"))).status_code == 200
        refused = await api.get("/v1/groups", headers=bearer("reader"))
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:lockgate:too-many-requests")
        assert refused.headers["Retry-After"] == "1"
        assert (await api.get("/v1/groups", headers=bearer("admin"))).status_code == 200
        assert (await api.get("/livez")).status_code == 200
        clock.now += 1
        assert (await api.get("/v1/groups", headers=bearer("reader"))).status_code == 200


async def test_a_body_that_announces_too_much_is_not_read(service: Service) -> None:
    async def body() -> Any:
        yield b"{"
        raise AssertionError("it was read")

    async with service() as api:
        answer = await api.put(
            "/v1/groups/orders", headers={**bearer("admin"), "Content-Length": str(10**30)}, content=body()
        )
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:lockgate:too-large")
