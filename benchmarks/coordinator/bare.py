"""What the service is measured against: programs that do only the work that cannot be left out.

python bare.py reports PORT      an ASGI app on the same uvicorn, which parses a report and answers
                                 an event of the same length; `json PORT` does so by the standard
                                 library's parser
python bare.py streams PORT      a loop that writes an event to every subscribed socket on each POST
"""

import asyncio
import json
import sys
from typing import Any, ClassVar

import msgspec
import uvicorn

from lockgate_coordinator.server import listen

EVENT = {
    "group": "bench",
    "revision": 1_795_268_813_854,
    "group_watermark": 1_795_268_813_854,
    "max_desired_watermark": 1_795_268_814_854,
    "blocked_by": [{"source": "orders", "subtask": 7, "watermark": 1_795_268_813_854}],
}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """One report in, one event out; both as JSON, by the fastest parser there is."""
    report = msgspec.json.decode((await receive())["body"])
    await answer(send, msgspec.json.encode({**EVENT, "group_watermark": report["watermark"]}))


async def plain_app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Serve the same, as one would write it."""
    report = json.loads((await receive())["body"])
    await answer(send, json.dumps({**EVENT, "group_watermark": report["watermark"]}).encode())


async def answer(send: Any, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Loop(asyncio.Protocol):
    """GET joins, POST is answered and then written to all who have joined."""

    joined: ClassVar[list[Any]] = []

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET"):
            self._transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            self.joined.append(self._transport)
            return
        body = msgspec.json.encode(EVENT)
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        event = b"event: alignment\nid: %d\ndata: %b\n\n" % (EVENT["revision"], body)
        chunk = b"%x\r\n%b\r\n" % (len(event), event)
        for transport in self.joined:
            transport.write(chunk)


async def loop(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Loop, sock=listen("127.0.0.1", port))
    print("ready", flush=True)
    await server.serve_forever()


class Announced(uvicorn.Server):
    """Says when it can be asked."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        print("ready", flush=True)


if __name__ == "__main__":
    kind, port = sys.argv[1], int(sys.argv[2])
    if kind == "streams":
        import uvloop

        uvloop.install()
        asyncio.run(loop(port))
    else:
        config = uvicorn.Config(
            plain_app if kind == "json" else app, log_level="warning", access_log=False, lifespan="off"
        )
        Announced(config).run(sockets=[listen("127.0.0.1", port)])
