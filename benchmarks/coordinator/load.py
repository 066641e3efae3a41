"""A load generator: connections that each send one request after the other, in a process of its
own.

    python load.py register < job.json       prints {"epochs"}
    python load.py reports < job.json        prints {"requests", "seconds"}
    python load.py streams < job.json        prints {"seconds": [one for each change]}

All read a job of `url` (or `urls`) and `paths`, of which connection n takes the n-th. An answer
other than 200 or 201 ends it.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import uvloop


class Exchange(asyncio.Protocol):
    """One connection. `answered` is called with each body, and returns the next request."""

    def __init__(self, answered: Callable[[bytes], bytes | None]) -> None:
        self._answered = answered
        self._received = b""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, rest = self._received.partition(b"\r\n\r\n")
        if not blank:
            return
        if not head.startswith(b"HTTP/1.1 20"):
            self.ended.set_exception(RuntimeError(self._received.decode()))
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) >= length:
            self._received = b""
            request = self._answered(rest)
            if request is not None:
                self.transport.write(request)
            elif not self.ended.done():
                self.ended.set_result(None)


class Subscriber(asyncio.Protocol):
    """Counts the events of a stream."""

    def __init__(self, on_event: Callable[[], None]) -> None:
        self._on_event = on_event

    def data_received(self, data: bytes) -> None:
        for _ in range(data.count(b"event: alignment")):
            self._on_event()


def post(path: str, body: bytes) -> bytes:
    return b"POST %b HTTP/1.1\r\nHost: c\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        path.encode(),
        len(body),
        body,
    )


async def connected(url: str, protocol: Callable[[], asyncio.Protocol]) -> Any:
    address = urlsplit(url)
    return await asyncio.get_running_loop().create_connection(protocol, address.hostname, address.port)


async def register(job: dict[str, Any]) -> dict[str, Any]:
    """All subtasks below `readers`, over 32 connections. Their epochs."""
    epochs, left = [0] * job["readers"], iter(range(job["readers"]))

    def registering() -> Callable[[bytes], bytes | None]:
        subtask = None

        def following(answer: bytes) -> bytes | None:
            nonlocal subtask
            if subtask is not None:
                epochs[subtask] = json.loads(answer)["epoch"]
            subtask = next(left, None)
            return None if subtask is None else post(job["paths"][0], b'{"subtask":%d}' % subtask)

        return following

    await run([(job["urls"][0], registering()) for _ in range(min(32, job["readers"]))])
    return {"epochs": epochs}


async def run(senders: list[tuple[str, Callable[[bytes], bytes | None]]]) -> float:
    """Seconds from the first request to the last answer."""
    exchanges = []
    for url, following in senders:
        _, exchange = await connected(url, lambda following=following: Exchange(following))  # type: ignore[misc]
        exchanges.append((exchange, following))
    began = time.perf_counter()
    for exchange, following in exchanges:
        exchange.transport.write(following(b""))
    await asyncio.gather(*(exchange.ended for exchange, _ in exchanges))
    return time.perf_counter() - began


async def reports(job: dict[str, Any]) -> dict[str, Any]:
    """Each connection repeats its body, with a watermark that rises from one request to the
    next.
    """
    until, requests = time.perf_counter() + job["seconds"], 0

    def sender(path: str, body: str) -> Callable[[bytes], bytes | None]:
        sent = 0

        def following(_: bytes) -> bytes | None:
            nonlocal sent, requests
            requests += sent > 0
            sent += 1
            return (
                post(path, body.replace("$", str(job["from"] + sent)).encode()) if time.perf_counter() < until else None
            )

        return following

    both = enumerate(zip(job["paths"], job["bodies"], strict=True))
    seconds = await run([(job["urls"][n % len(job["urls"])], sender(path, body)) for n, (path, body) in both])
    return {"requests": requests, "seconds": seconds}


async def streams(job: dict[str, Any]) -> dict[str, Any]:
    """From each report's sending to the arrival of its event at the last of the subscribers."""
    loop, arrived = asyncio.get_running_loop(), 0
    everywhere = loop.create_future()

    def count() -> None:
        nonlocal arrived
        arrived += 1
        if arrived == job["subscribers"] and not everywhere.done():
            everywhere.set_result(None)

    for _ in range(job["subscribers"]):
        transport, _ = await connected(job["urls"][0], lambda: Subscriber(count))
        transport.write(b"GET %b HTTP/1.1\r\nHost: c\r\n\r\n" % job["paths"][1].encode())
    _, exchange = await connected(job["urls"][0], lambda: Exchange(lambda _: None))
    if job["greeted"]:  # the service sends the current event first
        await everywhere
    found = []
    for change in range(job["changes"]):
        await asyncio.sleep(job["pause"])
        arrived, everywhere = 0, loop.create_future()
        began = time.perf_counter()
        exchange.transport.write(
            post(job["paths"][0], job["bodies"][0].replace("$", str(job["from"] + change)).encode())
        )
        await everywhere
        found.append(time.perf_counter() - began)
    return {"seconds": found}


if __name__ == "__main__":
    uvloop.install()
    answer = asyncio.run(
        {"register": register, "reports": reports, "streams": streams}[sys.argv[1]](json.load(sys.stdin))
    )
    # Not `print`: with PYTHONUNBUFFERED a write to a pipe that takes a part of it only loses the
    # rest.
    with open(sys.stdout.fileno(), "w", closefd=False) as out:
        json.dump(answer, out)
