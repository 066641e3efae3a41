"""A small real HTTP server that always gives one answer, such as a coordinator never gives; and a
port that never answers.
"""

import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread


@dataclass
class Answer:
    """The answer to every request; `asked` collects the requests' lines and their Authorization
    headers, `bodies` what they send.
    """

    status: int = 200
    body: bytes = b"{}"
    kind: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The URL of a server that answers so."""

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            answer.bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
            answer.asked.append((self.requestline, self.headers.get("Authorization")))
            self.send_response(answer.status)
            for name, value in {
                "Content-Type": answer.kind,
                "Content-Length": str(len(answer.body)),
                **answer.headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_PUT = do_DELETE = reply  # noqa: N815 – http.server's own names

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def accepting_only() -> Iterator[str]:
    """The URL of a port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def wait_for(fulfilled: Callable[[], object], timeout_s: float = 120.0) -> None:
    """Looks again and again: the condition lies in another thread or process, and nothing there
    calls back.
    """
    never, ends, pause_s = Event(), time.monotonic() + timeout_s, 0.02
    while not fulfilled():
        assert time.monotonic() < ends, f"it did not come about within {timeout_s:g} s"
        never.wait(pause_s)
        pause_s = min(0.1, 1.2 * pause_s)  # a look takes time from what is waited for
