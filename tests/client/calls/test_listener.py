"""News of the group: by a stream, by long polls where none comes through, and by a stream again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from threading import Event

import httpx
import pytest

from lockgate.wire.events import ReaderRegistrationEvent, ReportedWatermarkEvent, WatermarkAlignmentEvent
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.calls.listener import STREAM_AGAIN_S, Listener
from lockgate_http.calls.retry import Pace
from lockgate_http.config import Coordinator
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for


class Proxy(httpx.AsyncBaseTransport):
    """Before a real coordinator; `stream` may keep, refuse, or change what the route of the stream
    answers. `asked`: `events` or `poll`.
    """

    def __init__(self) -> None:
        self._http = httpx.AsyncHTTPTransport()
        self.asked: list[str] = []
        self.stream: Callable[[httpx.Response], httpx.Response] = lambda answer: answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/events"):
            self.asked.append("events")
            return self.stream(await self._http.handle_async_request(request))
        if request.url.path.endswith("/alignment"):
            self.asked.append("poll")
        return await self._http.handle_async_request(request)

    async def aclose(self) -> None:
        await self._http.aclose()


class Parts(httpx.AsyncByteStream):
    """The first `passed` parts of an answer, and then nothing, for ever."""

    def __init__(self, answer: httpx.Response, passed: int) -> None:
        self._answer, self._passed = answer, passed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._passed
        async for part in self._answer.stream:  # type: ignore[union-attr]
            if left == 0:
                await asyncio.Event().wait()
            left -= 1
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


def kept(passed: int) -> Callable[[httpx.Response], httpx.Response]:
    return lambda answer: httpx.Response(answer.status_code, headers=answer.headers, stream=Parts(answer, passed))


class Group:
    """A group with one reader that can be moved, and what a listener has heard of it."""

    def __init__(self, url: str, group: str, proxy: Proxy, silence_s: float, patience: str) -> None:
        self.heard: list[WatermarkAlignmentEvent] = []
        self.gone = Event()
        self.clock = [0.0]
        self._client = CoordinatorClient(Coordinator(url, group=group, timeout="1 minute"))
        self._listening = CoordinatorClient(Coordinator(url, group=group, timeout=patience), proxy)
        self._epoch = self._client.register("orders", ReaderRegistrationEvent(subtask=0)).epoch
        pace = Pace(clock=lambda: self.clock[0])
        self._listening.begin(Listener(self._listening, self.heard.append, self.gone.set, pace, silence_s).listen)

    def moves(self, watermark: int) -> None:
        self._client.report([("orders", ReportedWatermarkEvent(subtask=0, epoch=self._epoch, watermark=watermark))])
        wait_for(lambda: self.heard and self.heard[-1].group_watermark == watermark)

    def close(self) -> None:
        self._listening.close()
        self._client.close()


@contextmanager
def listening(
    url: str, group: str, proxy: Proxy, silence_s: float = 20.0, patience: str = "1 minute"
) -> Iterator[Group]:
    """`patience`: how long the first event of a stream is waited for."""
    found = Group(url, group, proxy, silence_s, patience)
    try:
        yield found
    finally:
        found.close()


def test_each_change_comes_by_one_stream(url: str, topic: str) -> None:
    proxy = Proxy()
    with listening(url, topic, proxy) as group:
        for watermark in (1_000, 2_000, 1_500):
            group.moves(watermark)
    assert proxy.asked == ["events"]


def saying(status: int, kind: str) -> Callable[[httpx.Response], httpx.Response]:
    return lambda _: httpx.Response(
        status, headers={"Content-Type": kind}, stream=httpx.ByteStream(b"<html>log in</html>")
    )


@pytest.mark.parametrize(
    "answer", [kept(0), saying(405, "text/plain"), saying(200, "text/html"), saying(504, "text/html")]
)
def test_where_no_stream_comes_through_the_group_is_asked_by_long_polls(
    url: str, topic: str, answer: Callable[[httpx.Response], httpx.Response]
) -> None:
    proxy = Proxy()
    proxy.stream = answer
    with listening(url, topic, proxy, patience="500 milliseconds") as group:
        for watermark in (1_000, 2_000):
            group.moves(watermark)
    assert proxy.asked.count("events") == 1
    assert proxy.asked.count("poll") >= 2


def test_stream_that_falls_silent_is_given_up_for_long_polls(url: str, topic: str) -> None:
    proxy = Proxy()
    proxy.stream = kept(1)
    with listening(url, topic, proxy, silence_s=0.2) as group:
        wait_for(lambda: group.heard)
        group.moves(1_000)
    assert proxy.asked[:2] == ["events", "poll"]


def test_a_stream_is_tried_again_after_a_while(url: str, topic: str) -> None:
    proxy = Proxy()
    proxy.stream = kept(0)
    with listening(url, topic, proxy, patience="3 seconds") as group:
        group.moves(1_000)
        proxy.stream = lambda answer: answer
        group.clock[0] += STREAM_AGAIN_S
        group.moves(2_000)  # ends the poll that is under way
        wait_for(lambda: proxy.asked[-1] == "events")
        polls = proxy.asked.count("poll")
        group.moves(3_000)
        assert proxy.asked.count("poll") == polls


def test_after_a_restart_of_the_coordinator_the_news_go_on(topic: str) -> None:
    with CoordinatorProcess() as coordinator, listening(coordinator.url, topic, Proxy()) as group:
        group.moves(1_000)
        coordinator.kill()
        coordinator.start()
        assert group.gone.wait(60), "it has forgotten the group"


def test_a_group_that_is_deleted_is_told_of(url: str, topic: str) -> None:
    with listening(url, topic, Proxy()) as group:
        group.moves(1_000)
        httpx.delete(f"{url}/v1/groups/{topic}", timeout=60).raise_for_status()
        assert group.gone.wait(60)
