"""Real TCP servers that speak as no coordinator does: byte by byte, without end, not to the end, or
no HTTP at all.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BYTE_S = 0.02  # between two bytes of those that drip: far below any time limit

_ended = threading.Event()  # never set: what waits on it waits for its time


@contextmanager
def speaking(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """The URL of a server that reads each request and then calls `answer` with the connection, in a
    thread of its own.
    """
    with _listening(lambda connection, _: answer(connection)) as url:
        yield url


@contextmanager
def _listening(answer: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))

    def speak(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            first = connection.recv(65_536)
            if first:
                answer(connection, first)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=speak, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


class Relay:
    """A TCP relay to `target`, http://HOST:PORT, that can be made to answer by itself, as
    `speaking` does.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._behaviour: Callable[[socket.socket], None] | None = None
        self._open: list[socket.socket] = []

    def turn(self, behaviour: Callable[[socket.socket], None] | None) -> None:
        """From now on `behaviour` answers, and with None the target; the connections that are open
        are cut.
        """
        self._behaviour = behaviour
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def answer(self, connection: socket.socket, first: bytes) -> None:
        """To be given to `_listening`."""
        if self._behaviour is not None:
            self._behaviour(connection)
            return
        with socket.create_connection(self._target) as there:
            self._open += [connection, there]
            there.sendall(first)
            back = threading.Thread(target=_copy, args=(there, connection), daemon=True)
            back.start()
            _copy(connection, there)
            back.join()


@contextmanager
def relayed(target: str) -> Iterator[tuple[str, Relay]]:
    """The URL of a relay to `target`, and the relay."""
    relay = Relay(target)
    with _listening(relay.answer) as url:
        yield url, relay


def _copy(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while part := source.recv(65_536):
            to.sendall(part)
    with suppress(OSError):
        to.shutdown(socket.SHUT_RDWR)


def dripping_body(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 1000000\r\n\r\n{")
    while True:
        _drip(connection, b" ")


def dripping_chunks(connection: socket.socket) -> None:
    connection.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        _drip(connection, b"1\r\n{\r\n")


def dripping_headers(connection: socket.socket) -> None:
    connection.sendall(OK + b"X-More: ")
    while True:
        _drip(connection, b"a")


def going_on_for_ever(connection: socket.socket) -> None:
    while True:
        _drip(connection, b"HTTP/1.1 100 Continue\r\n\r\n")


def silent(connection: socket.socket) -> None:
    connection.recv(1)  # until the other side gives up


def reset_in_the_middle(connection: socket.socket) -> None:
    connection.sendall(OK + b'Content-Length: 100\r\n\r\n{"group": ')
    # close() sends RST
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def ended_in_the_middle(connection: socket.socket) -> None:
    connection.sendall(OK + b'Content-Length: 100\r\n\r\n{"group": ')


def a_gigabyte(connection: socket.socket) -> None:
    connection.sendall(OK + b"Content-Length: 1000000000\r\n\r\n")
    for _ in range(1000):
        connection.sendall(b" " * 1_000_000)


def garbage(connection: socket.socket) -> None:
    connection.sendall(b"\x00\xff\x15\x03\x01 SSH-2.0-lock\r\n\r\n")


def http_0_9(connection: socket.socket) -> None:
    connection.sendall(b"<html>hello</html>\n")


def endless_headers(connection: socket.socket) -> None:
    connection.sendall(OK)
    while True:
        connection.sendall(b"X-More: " + b"a" * 1000 + b"\r\n")


def _drip(connection: socket.socket, part: bytes) -> None:
    connection.sendall(part)
    _ended.wait(BYTE_S)
