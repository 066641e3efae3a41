"""Connections that never finish a request, and answers in one piece: over real sockets. The
server is in this process, so that a minute can be short.
"""

import asyncio
import gc
import json
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from weakref import WeakSet

import pytest
import uvicorn
from anyio import fail_after
from uvicorn.server import ServerState

from lockgate_coordinator import intake
from lockgate_coordinator.app import create_app
from lockgate_coordinator.store import MemoryStore

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
def kept() -> WeakSet[intake.Intake]:
    """The connections of `port` that are not freed yet."""
    return WeakSet()


@pytest.fixture
async def port(kept: WeakSet[intake.Intake]) -> AsyncIterator[int]:
    config = uvicorn.Config(create_app(MemoryStore()), log_level="critical")
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    state.default_headers = [(b"server", b"a server")]  # uvicorn's server sets these

    def connection() -> intake.Intake:
        made = intake.Intake(config=config, server_state=state, app_state={})
        kept.add(made)
        return made

    server = await loop.create_server(connection, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are checked ten times a second."""
    monkeypatch.setattr(intake, "SLOW_S", 0.1)


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


async def answered(port: int, request: bytes) -> bytes:
    """All bytes until the server ends the connection. The request is sent before the server can see
    the connection, however long the machine pauses.
    """
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setblocking(False)
    sent = connection.send(request) if request else 0
    reader, writer = await asyncio.open_connection(sock=connection)
    writer.write(request[sent:])
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


def post(path: str, body: bytes, *headers: bytes) -> bytes:
    lines = [
        b"POST /v1/groups/g/sources/a/%b HTTP/1.1" % path.encode(),
        b"Host: x",
        b"Content-Length: %d" % len(body),
        *headers,
    ]
    return b"\r\n".join([*lines, b"", body])


@pytest.fixture
async def report(port: int) -> bytes:
    """The body of a report that is accepted."""
    said = await answered(port, post("readers", b'{"subtask":0}', b"Connection: close"))
    epoch = json.loads(said.partition(b"\r\n\r\n")[2])["epoch"]
    return b'{"subtask":0,"epoch":%d,"watermark":7}' % epoch


async def test_an_answer_in_one_piece_is_the_same_as_one_in_two(port: int, report: bytes) -> None:
    # One request at a time: an answer to pipelined requests is never in one piece.
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(post("watermarks", report))
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    (length,) = re.findall(rb"content-length: (\d+)", head)
    whole = head + await asyncio.wait_for(reader.readexactly(int(length)), 20)
    writer.close()
    in_pieces = await answered(port, post("watermarks", report, b"Connection: close"))
    assert whole == in_pieces.replace(b"connection: close\r\n", b"")
    assert whole.startswith(b"HTTP/1.1 200 OK\r\n")


async def test_reports_of_one_connection_are_answered_in_their_order(port: int, report: bytes) -> None:
    asked = [post("watermarks", report.replace(b":7}", b":%d}" % watermark)) for watermark in range(50)]
    said = await answered(port, b"".join(asked) + post("watermarks", report, b"Connection: close"))
    assert re.findall(rb'"group_watermark":(\d+)', said) == [b"%d" % watermark for watermark in (*range(50), 7)]


@pytest.mark.usefixtures("soon")
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


async def test_a_body_that_is_cut_off_is_not_accepted_and_nothing_is_logged(
    port: int, report: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for whole in (
        post("watermarks", report + b" "),
        post("progress", report + b" "),
        post("readers", b'{"subtask":1} '),
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(whole[:-1])  # complete JSON, but one byte short of its Content-Length
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), 20) == b""
        writer.close()
    seen = await answered(port, b"GET /v1/groups/g/sources/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    (only,) = json.loads(seen.partition(b"\r\n\r\n")[2])["readers"]
    assert (only["subtask"], only["state"]) == (0, "registered")
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


@pytest.mark.usefixtures("soon")
async def test_a_long_poll_lasts_longer_than_a_slow_request_may(port: int) -> None:
    put = b"PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    target = b"/v1/groups/g/alignment?after=9223372036854775807&wait_ms=600"
    poll = b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target
    assert b"HTTP/1.1 204 No Content" in await answered(port, put + poll)


async def test_a_head_that_does_not_end_is_refused(port: int) -> None:
    head = b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"X: %s\r\n" % (b"y" * 1_000) * 70
    assert (await answered(port, head)).startswith(b"HTTP/1.1 431 ")


async def test_heads_do_not_add_up_over_the_requests_of_a_connection(port: int) -> None:
    one = b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"X: %s\r\n" % (b"y" * 1_000) * 20
    asked = await answered(port, (one + b"\r\n") * 9 + one + b"Connection: close\r\n\r\n")
    assert asked.count(b"HTTP/1.1 200 OK") == 10


async def test_trailers_that_do_not_end_end_the_connection_without_waiting(port: int) -> None:
    chunked = b"PUT /v1/groups/g HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    # the system resets the connection if the server has not read everything
    with suppress(ConnectionError):
        assert await answered(port, chunked + b"X: %s\r\n" % (b"y" * 1_000) * 400) == b""


@pytest.mark.usefixtures("collector_off")
async def test_a_connection_that_has_ended_is_freed_without_the_collector(
    port: int, kept: WeakSet[intake.Intake], report: bytes
) -> None:
    await answered(port, post("watermarks", report) + post("watermarks", report, b"Connection: close"))
    with fail_after(20):
        while kept:
            await asyncio.sleep(0)
