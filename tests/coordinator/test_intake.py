"""A connection that never comes to an end, over real sockets and in this process, so that the minute is a moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import uvicorn
from uvicorn.server import ServerState

from lockgate_coordinator import intake
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(intake, "SLOW_S", 0.1)
    config = uvicorn.Config(create_app(MemoryStore()), log_level="critical")
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: intake.Intake(config=config, server_state=state, app_state={}), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def answered(port: int, request: bytes) -> bytes:
    """All that comes until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"GET /livez HT",
        b"GET /livez HTTP/1.1\r\nHost: x\r\nX: y",
        b"PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
    ],
    ids=["nothing", "half a line", "half a head", "half a body"],
)
async def test_a_request_that_does_not_end_ends_the_connection(port: int, request_: bytes) -> None:
    assert await answered(port, request_) == b""


async def test_a_long_poll_outlives_it(port: int) -> None:
    put = b"PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    poll = b"GET /v1/groups/g/alignment?after=9223372036854775807&wait_ms=600 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert b"HTTP/1.1 204 No Content" in await answered(port, put + poll)


async def test_a_head_that_does_not_end_is_refused(port: int) -> None:
    head = b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"X: %s\r\n" % (b"y" * 1_000) * 70
    assert (await answered(port, head)).startswith(b"HTTP/1.1 431 ")


async def test_heads_do_not_add_up_over_the_requests_of_a_connection(port: int) -> None:
    one = b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"X: %s\r\n" % (b"y" * 1_000) * 20
    asked = await answered(port, (one + b"\r\n") * 9 + one + b"Connection: close\r\n\r\n")
    assert asked.count(b"HTTP/1.1 200 OK") == 10


async def test_trailers_that_do_not_end_end_the_connection_without_waiting(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "SLOW_S", 60)
    chunked = b"PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    with suppress(ConnectionError):  # what it has not read yet makes its system reset the connection
        assert await answered(port, chunked + b"X: %s\r\n" % (b"y" * 1_000) * 400) == b""
