"""A store that has lost everything, under a service that starts again: who gets which splits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from redis import Redis

from coordinator.api.test_splits_over_rest import CONFIG, SOURCE, Reader, joined, settled
from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import open_store


@asynccontextmanager
async def empty_service(store_address: str) -> AsyncIterator[httpx.AsyncClient]:
    """A service of its own, over a store that has nothing."""
    if store_address != "memory://":
        with Redis.from_url(store_address) as redis:
            redis.flushall()
    store = open_store(store_address)
    transport = httpx.ASGITransport(create_app(store, Settings()), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://coordinator") as api:
        yield api
    await store.close()


async def test_a_standby_waits_out_the_lease_of_a_holder_that_the_store_has_lost(store_address: str) -> None:
    async with empty_service(store_address) as api:
        (holder,) = await settled(api, 1)
        standby = await joined(api, 1)
        seen = (await standby.exchange(capacity=0))["revision"]
    async with empty_service(store_address) as api:
        standby = await joined(api, 1)
        first = await standby.exchange(seen=seen)
        second = await standby.exchange(seen=first["revision"])
        assert second["assigning_in_ms"] > CONFIG["lease_ms"] - 30_000
        assert second["add_splits"] == []
        shown = (await api.get(f"{SOURCE}/splits")).json()
        assert [(each["state"], each["position"]) for each in shown["items"]] == [("unassigned", "committed")] * 4
        late = await joined(api, 0)
        late.held = holder.held
        assert (await late.exchange(seen=seen))["stop"] == []
        assert (await late.exchange())["add_splits"] == [], "it has all of them"


async def test_a_claim_with_a_number_that_is_made_up_is_answered_by_stop(api: httpx.AsyncClient) -> None:
    (victim,) = await settled(api, 1)
    before = dict(victim.held)
    attacker: Reader = await joined(api, 1)
    claims = [{**each, "assignment": each["assignment"] + 1, "restored": True} for each in before.values()]
    for more in ({"held": claims}, {"held": claims, "seen": 2**62}, {"held": [], "finished": claims}):
        answer = (await attacker.says(capacity=0, **more)).json()
        assert await victim.exchange() | {"stop": []}
    assert answer["revision"] < 2**61
    answer = (await attacker.says(capacity=0, held=claims)).json()
    assert {each["split"] for each in answer["stop"]} == before.keys()
    assert victim.held == before
