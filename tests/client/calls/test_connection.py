"""A call has an end, whatever answers it: real TCP servers that drip, hang, reset, flood, or speak
no HTTP.
"""

import asyncio
import contextlib
import gc
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable

import pytest

from lockgate_http.calls.answers import Interrupted
from lockgate_http.calls.client import CoordinatorClient, NotACoordinator, Unreachable
from lockgate_http.config import Coordinator
from support.answers import accepting_only, wait_for
from support.hostile import (
    a_gigabyte,
    dripping_body,
    dripping_chunks,
    dripping_headers,
    ended_in_the_middle,
    endless_headers,
    garbage,
    going_on_for_ever,
    http_0_9,
    reset_in_the_middle,
    silent,
    speaking,
)

HANGING = (dripping_body, dripping_chunks, dripping_headers, going_on_for_ever, silent)
BROKEN = (ended_in_the_middle, endless_headers, garbage, http_0_9, reset_in_the_middle)

Behaviour = Callable[[socket.socket], None]


def client(url: str, timeout: str = "300 milliseconds") -> CoordinatorClient:
    return CoordinatorClient(Coordinator(url, group="g", timeout=timeout))


@pytest.fixture
def took() -> Callable[[], float]:
    began = time.monotonic()
    return lambda: time.monotonic() - began


def http_threads() -> int:
    return sum(thread.name == "lockgate-http" for thread in threading.enumerate())


@pytest.mark.parametrize("behaviour", HANGING)
def test_a_server_that_does_not_come_to_an_end_is_given_up_at_the_timeout(
    behaviour: Behaviour, took: Callable[[], float]
) -> None:
    with (
        speaking(behaviour) as url,
        client(url) as one,
        pytest.raises(Unreachable, match=r"no whole answer within 0\.3 s"),
    ):
        one.config()
    assert 0.3 <= took() < 5  # the rest is for a machine that does other things


@pytest.mark.parametrize("behaviour", BROKEN)
def test_a_server_that_breaks_off_or_speaks_no_http_is_unreachable(
    behaviour: Behaviour, took: Callable[[], float]
) -> None:
    with speaking(behaviour) as url, client(url) as one, pytest.raises(Unreachable):
        one.config()
    assert took() < 5


def test_a_flood_is_cut_off_after_a_few_megabytes() -> None:
    tracemalloc.start()
    try:
        with (
            speaking(a_gigabyte) as url,
            client(url, "1 minute") as one,
            pytest.raises(NotACoordinator, match="more than 8388608 bytes"),
        ):
            one.config()
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_name_that_cannot_be_looked_up_in_time_holds_nobody(
    monkeypatch: pytest.MonkeyPatch, took: Callable[[], float]
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait(30) and [])
    with client("http://coordinator.example:8080") as one, pytest.raises(Unreachable, match="no whole answer"):
        one.config()
    answered.set()
    assert took() < 5


@pytest.mark.parametrize("url", ["http://no-such-host.invalid", f"http://{'a' * 64}.invalid"])
def test_a_name_that_nobody_has_is_unreachable(url: str) -> None:
    with client(url) as one, pytest.raises(Unreachable):
        one.config()


@pytest.mark.parametrize("behaviour", HANGING)
def test_a_call_that_is_interrupted_ends_at_once_and_the_next_one_goes_on(behaviour: Behaviour) -> None:
    with speaking(behaviour) as url, client(url, "60 seconds") as one:
        told: list[str] = []

        def ask() -> None:
            with pytest.raises(Unreachable) as raised:
                one.config()
            told.append(str(raised.value))

        for _ in range(2):
            asking = threading.Thread(target=ask)
            asking.start()
            while asking.is_alive():
                one.interrupt()
                asking.join(0.02)
        assert ["was interrupted" in text for text in told] == [True, True]


def test_a_call_that_fails_while_its_caller_goes_away_prints_nothing(caplog: pytest.LogCaptureFixture) -> None:
    begun, failed = threading.Event(), threading.Event()

    async def failing() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            failed.set()
            raise Unreachable("the coordinator is away")

    with accepting_only() as url, client(url) as one:

        def ask() -> None:
            with pytest.raises(Interrupted):
                one.call(failing)

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(60)
        one.interrupt()
        asking.join()
        assert failed.wait(60)
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_closing_ends_what_is_under_way_and_the_thread() -> None:
    before = http_threads()
    with accepting_only() as url:
        one = client(url, "60 seconds")

        def ask() -> None:
            with pytest.raises(Unreachable):
                one.config()

        asking = threading.Thread(target=ask)
        asking.start()
        wait_for(lambda: one._running)
        one.close()
        asking.join(20)
        assert not asking.is_alive()
    wait_for(lambda: http_threads() == before)


def test_closing_ends_a_task_that_lost_its_first_cancellation() -> None:
    before, begun = http_threads(), threading.Event()

    async def asks_again() -> None:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(3_600)
        await asyncio.sleep(3_600)

    one = client("http://127.0.0.1:1")
    one.begin(asks_again)
    assert begun.wait(20)
    one.close()
    wait_for(lambda: http_threads() == before, 20)


def test_a_closed_client_is_unreachable_and_may_be_closed_again() -> None:
    one = client("http://127.0.0.1:1")
    for _ in range(2):
        one.close()
        with pytest.raises(Unreachable, match="closed"):
            one.config()
