"""Subscribers of an event stream that open it and never read."""

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from httpx import URL

COUNT = 50
_TCP = Path("/proc/net/tcp")


class Deaf:
    """`COUNT` clients of the stream at `url` inside `with`. Their receive buffers are the smallest
    that the system gives, so that the server soon cannot send.
    """

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url, self._ends = URL(url), ExitStack()
        lines = [f"GET {self._url.raw_path.decode()} HTTP/1.1", f"Host: {self._url.netloc.decode()}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._request = ("\r\n".join(lines) + "\r\n\r\n").encode()

    def __enter__(self) -> "Deaf":
        for _ in range(COUNT):
            client = self._ends.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.connect((self._url.host, self._url.port))
            client.sendall(self._request)
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()


def stuck(url: str) -> int:
    """Return how many connections of the server have bytes that its clients do not take."""
    here = f":{URL(url).port:04X}"
    found = (line.split() for line in _TCP.read_text().splitlines()[1:])
    return sum(each[1].endswith(here) and not each[4].startswith("00000000:") for each in found)
