"""The network that can be stopped, slowed and cut."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from lockgate_testbed.link import Link

WITHIN_S = 60


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that says again what it hears."""

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection:
            try:
                while said := connection.recv(1_000):
                    connection.sendall(said)
            except ConnectionError:
                return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def says(connection: socket.socket, what: bytes) -> bytes:
    connection.sendall(what)
    return connection.recv(1_000)


def test_bytes_pass_and_a_stopped_link_holds_them_until_it_is_resumed(echo: int) -> None:
    with Link(echo) as link, socket.create_connection(("127.0.0.1", link.port), timeout=WITHIN_S) as connection:
        assert says(connection, b"one") == b"one"
        link.stop()
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            says(connection, b"two")
        link.resume()
        connection.settimeout(WITHIN_S)
        assert connection.recv(1_000) == b"two"


def test_a_slow_link_takes_its_time_each_way(echo: int) -> None:
    with Link(echo) as link, socket.create_connection(("127.0.0.1", link.port), timeout=WITHIN_S) as connection:
        link.slow(0.1)
        began = time.monotonic()
        assert says(connection, b"one") == b"one"
        assert time.monotonic() - began >= 0.2


def test_a_reset_breaks_what_is_open_and_new_connections_can_be_made(echo: int) -> None:
    with Link(echo) as link:
        with socket.create_connection(("127.0.0.1", link.port), timeout=WITHIN_S) as broken:
            assert says(broken, b"one") == b"one"
            link.reset()
            with pytest.raises(ConnectionResetError):
                broken.recv(1_000)
        with socket.create_connection(("127.0.0.1", link.port), timeout=WITHIN_S) as new:
            assert says(new, b"two") == b"two"


def test_a_connection_to_a_link_that_nobody_listens_behind_is_reset(echo: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = listener.getsockname()[1]
    with (
        Link(gone) as link,
        pytest.raises(ConnectionResetError),
        socket.create_connection(("127.0.0.1", link.port), timeout=WITHIN_S) as nobody,
    ):
        nobody.recv(1_000)
