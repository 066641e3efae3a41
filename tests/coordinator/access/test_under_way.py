"""What a token has under way: streams and long polls that end with it, and how many of them and of
large bodies there may be.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from lockgate_coordinator.access import under_way
from lockgate_coordinator.access.under_way import LARGE, MOST_LARGE
from lockgate_coordinator.settings import Settings
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for
from support.in_process import Service
from support.tokens import FILE, bearer

GROUP = "/v1/groups/orders"
READERS = f"{GROUP}/sources/s/readers"


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


@pytest.fixture
async def service(file: Path, request: pytest.FixtureRequest) -> Service:
    """Return a service with these tokens and the group; "max_subscribers" as a parameter."""
    service = Service(Settings(tokens_file=file, max_subscribers=getattr(request, "param", 9)))
    await service.http.put(GROUP, json={}, headers=bearer("admin"))
    return service


async def polling(service: Service, *names: str) -> "list[asyncio.Task[httpx.Response]]":
    """Return long polls by the tokens of these names, which all wait."""
    path = f"{GROUP}/alignment?after=9223372036854775807&wait_ms=60000"
    before = service.app.state.coordinator.announcer.watchers
    polls = [asyncio.create_task(service.http.get(path, headers=bearer(name))) for name in names]
    while service.app.state.coordinator.announcer.watchers < before + len(polls):
        assert not any(poll.done() for poll in polls)
        await asyncio.sleep(0)
    return polls


class Slow:
    """Registrations whose bodies end when `ends` is set. `size`: of the last part."""

    def __init__(self, service: Service, size: int, **headers: str) -> None:
        self._http, self._size, self._headers = service.http, size, headers
        self.ends = asyncio.Event()

    async def _body(self) -> AsyncIterator[bytes]:
        yield b'{"subtask":0,"note":"'
        await self.ends.wait()
        yield b"x" * self._size + b'"}'

    def sends(self, name: str) -> "asyncio.Task[httpx.Response]":
        headers = {**bearer(name), **self._headers}
        return asyncio.create_task(self._http.post(READERS, content=self._body(), headers=headers))

    async def sent(self, count: int) -> "list[asyncio.Task[httpx.Response]]":
        """Return so many requests under way by one token, of which another one is refused."""
        under_way = [self.sends("reporter") for _ in range(count)]
        for _ in range(100):
            await asyncio.sleep(0)
        refused = await asyncio.wait_for(self.sends("reporter"), 30)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:lockgate:too-many-at-once")
        return under_way

    async def all_are_taken(self, under_way: "list[asyncio.Task[httpx.Response]]") -> None:
        self.ends.set()
        assert {answer.status_code for answer in await asyncio.gather(*under_way)} == {201}
        assert (await self.sends("reporter")).status_code == 201


async def test_long_poll_is_answered_401_once_its_token_is_taken_out(file: Path, service: Service) -> None:
    gone, stays = await polling(service, "orders", "reader")
    file.write_text("\n\n".join(stanza for stanza in FILE.split("\n\n") if '"orders"' not in stanza))
    answer = await asyncio.wait_for(gone, 30)
    assert (answer.status_code, answer.json()["type"]) == (401, "urn:lockgate:unauthorized")
    assert "'orders' is no longer valid" in answer.json()["detail"]
    assert not stays.done()
    await service.http.delete(GROUP, headers=bearer("admin"))
    assert (await stays).status_code == 404
    assert service.app.state.coordinator.announcer.watchers == 0


@pytest.mark.parametrize("service", [4], indirect=True)
async def test_token_has_half_of_all_watchers_and_leaves_the_rest(service: Service) -> None:
    waiting = await polling(service, "reader", "reader")
    path = f"{GROUP}/alignment?after=9223372036854775807&wait_ms=60000"
    refused = await asyncio.wait_for(service.http.get(path, headers=bearer("reader")), 30)
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:lockgate:too-many-at-once")
    assert int(refused.headers["Retry-After"]) > 0
    waiting += await polling(service, "orders")
    await service.http.delete(GROUP, headers=bearer("admin"))
    assert [answer.status_code for answer in await asyncio.gather(*waiting)] == [404] * 3
    again = await service.http.get(f"{GROUP}/alignment", headers=bearer("reader"))
    assert again.status_code == 404, "its places are free again"


@pytest.mark.parametrize("announced", [True, False])
async def test_a_token_sends_so_many_large_bodies_at_a_time(service: Service, announced: bool) -> None:
    slow = Slow(service, LARGE - 22, **({"Content-Length": str(LARGE + 1)} if announced else {}))
    under_way = [*await slow.sent(MOST_LARGE), slow.sends("orders")]
    small = await service.http.post(READERS, json={"subtask": 0}, headers=bearer("reporter"))
    assert small.status_code == 201
    await slow.all_are_taken(under_way)


@pytest.fixture
def three_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(under_way, "MOST_UNANSWERED", 3)


async def test_a_token_has_so_many_requests_that_are_not_answered(three_unanswered: None, service: Service) -> None:
    slow = Slow(service, 0, **{"Content-Length": "23"})
    await slow.all_are_taken([*await slow.sent(3), slow.sends("orders")])


@pytest.mark.parametrize("service", [1], indirect=True)
async def test_where_one_may_wait_a_look_is_answered(service: Service) -> None:
    assert (await service.http.get(f"{GROUP}/alignment", headers=bearer("reader"))).status_code == 200


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
