"""What a token has under way: streams and long polls that end with it, and how many of them and of
large bodies there may be.
"""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from lockgate_coordinator.access import under_way
from lockgate_coordinator.access.under_way import LARGE, MOST_LARGE
from lockgate_coordinator.app import create_app
from lockgate_coordinator.settings import Settings
from lockgate_coordinator.store import MemoryStore
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for
from support.tokens import FILE, bearer

GROUP = "/v1/groups/orders"


def to_the_end(lines: Iterator[str]) -> list[str]:
    """All further lines of a stream that ends within half a minute; till then it has heartbeats."""
    read, until = list[str](), time.monotonic() + 30
    for line in lines:
        read.append(line)
        assert time.monotonic() < until, "the stream goes on"
    return read


def test_a_stream_ends_in_order_with_its_token_and_those_of_others_go_on(file: Path) -> None:
    with CoordinatorProcess(options=["--tokens", str(file)]) as process, httpx.Client(timeout=60) as http:
        group = f"{process.url}{GROUP}"
        http.put(group, json={}, headers=bearer("admin")).raise_for_status()
        with (
            http.stream("GET", f"{group}/alignment/events", headers=bearer("orders")) as gone,
            http.stream("GET", f"{group}/alignment/events", headers=bearer("reader")) as stays,
        ):
            ends, goes_on = gone.iter_lines(), stays.iter_lines()
            assert next(ends) == next(goes_on) == "event: alignment"
            file.write_text("\n\n".join(stanza for stanza in FILE.split("\n\n") if '"orders"' not in stanza))
            assert to_the_end(ends)[-1] == "", "and not with a broken connection"
            assert http.get(group, headers=bearer("orders")).status_code == 401
            assert next(line for line in goes_on if line.startswith(":")), "a heartbeat"


async def test_a_long_poll_under_way_is_answered_401_once_its_token_is_taken_out(file: Path) -> None:
    """The file changes only after the poll waits."""
    app = create_app(MemoryStore(), Settings(tokens_file=file))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as api:
        await api.put(GROUP, json={}, headers=bearer("admin"))
        path = f"{GROUP}/alignment?after=9223372036854775807&wait_ms=60000"
        gone = asyncio.create_task(api.get(path, headers=bearer("orders")))
        stays = asyncio.create_task(api.get(path, headers=bearer("reader")))
        while app.state.coordinator.watchers < 2:
            await asyncio.sleep(0)
        file.write_text("\n\n".join(stanza for stanza in FILE.split("\n\n") if '"orders"' not in stanza))
        answer = await asyncio.wait_for(gone, 30)
        assert (answer.status_code, answer.json()["type"]) == (401, "urn:lockgate:unauthorized")
        assert "'orders' is no longer valid" in answer.json()["detail"]
        assert not stays.done()
        await api.delete(GROUP, headers=bearer("admin"))
        assert (await stays).status_code == 404
        assert app.state.coordinator.watchers == 0


async def test_a_token_has_half_of_all_streams_and_long_polls_and_the_rest_is_left_for_others(file: Path) -> None:
    app = create_app(MemoryStore(), Settings(tokens_file=file, max_subscribers=4))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as api:
        await api.put(GROUP, json={}, headers=bearer("admin"))
        path = f"{GROUP}/alignment?after=9223372036854775807&wait_ms=60000"
        waiting = [asyncio.create_task(api.get(path, headers=bearer("reader"))) for _ in range(2)]
        while app.state.coordinator.watchers < 2:
            await asyncio.sleep(0)
        refused = await asyncio.wait_for(api.get(path, headers=bearer("reader")), 30)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:lockgate:too-many-at-once")
        assert int(refused.headers["Retry-After"]) > 0
        waiting.append(asyncio.create_task(api.get(path, headers=bearer("orders"))))
        while app.state.coordinator.watchers < 3:
            await asyncio.sleep(0)
        await api.delete(GROUP, headers=bearer("admin"))
        assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [404] * 3
        again = asyncio.create_task(api.get(f"{GROUP}/alignment", headers=bearer("reader")))
        assert (await again).status_code == 404, "its places are free again"


@pytest.mark.parametrize("announced", [True, False])
async def test_a_token_sends_so_many_large_bodies_at_a_time(file: Path, announced: bool) -> None:
    app = create_app(MemoryStore(), Settings(tokens_file=file))
    ends = asyncio.Event()

    async def body() -> Any:
        yield b'{"subtask":0,"note":"'
        await ends.wait()
        yield b"x" * (LARGE - 22) + b'"}'

    headers = {"Content-Length": str(LARGE + 1)} if announced else {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as api:

        async def sends(name: str) -> httpx.Response:
            return await api.post(f"{GROUP}/sources/s/readers", content=body(), headers={**bearer(name), **headers})

        under_way = [asyncio.create_task(sends("reporter")) for _ in range(MOST_LARGE)]
        for _ in range(100):
            await asyncio.sleep(0)
        refused = await asyncio.wait_for(sends("reporter"), 30)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:lockgate:too-many-at-once")
        other = asyncio.create_task(sends("orders"))
        small = await api.post(f"{GROUP}/sources/s/readers", json={"subtask": 0}, headers=bearer("reporter"))
        assert small.status_code == 201
        ends.set()
        assert {answer.status_code for answer in await asyncio.gather(*under_way, other)} == {201}
        assert (await sends("reporter")).status_code == 201


def test_a_client_that_leaves_frees_its_place(file: Path) -> None:
    with CoordinatorProcess(options=["--tokens", str(file), "--max-subscribers", "2"]) as process:
        group = f"{process.url}{GROUP}"
        httpx.put(group, json={}, headers=bearer("admin"), timeout=60).raise_for_status()
        events = f"{group}/alignment/events"

        def free() -> bool:
            with httpx.stream("GET", events, headers=bearer("reader"), timeout=60) as stream:
                return stream.status_code == 200

        for _ in range(5):  # more than there are places; the coordinator learns of each end a moment later
            wait_for(free, 30)


async def test_a_token_has_so_many_requests_that_are_not_answered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_way, "MOST_UNANSWERED", 3)
    app = create_app(MemoryStore(), Settings(tokens_file=file))
    ends = asyncio.Event()

    async def body() -> Any:
        yield b"{"
        await ends.wait()
        yield b'"subtask":0}'

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as api:

        async def sends(name: str) -> httpx.Response:
            headers = {**bearer(name), "Content-Length": "13"}
            return await api.post(f"{GROUP}/sources/s/readers", content=body(), headers=headers)

        begun = [asyncio.create_task(sends("reporter")) for _ in range(3)]
        for _ in range(100):
            await asyncio.sleep(0)
        refused = await asyncio.wait_for(sends("reporter"), 30)
        assert refused.json()["type"] == "urn:lockgate:too-many-at-once"
        other = asyncio.create_task(sends("orders"))
        ends.set()
        assert {answer.status_code for answer in await asyncio.gather(*begun, other)} == {201}
        assert (await sends("reporter")).status_code == 201


async def test_where_one_may_wait_a_look_is_answered(file: Path) -> None:
    app = create_app(MemoryStore(), Settings(tokens_file=file, max_subscribers=1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://coordinator") as api:
        await api.put(GROUP, json={}, headers=bearer("admin"))
        assert (await api.get(f"{GROUP}/alignment", headers=bearer("reader"))).status_code == 200
