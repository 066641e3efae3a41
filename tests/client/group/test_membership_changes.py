"""A query's place in its group while something changes under it: the group's configuration, or what
stands before the coordinator.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Callable

import httpx
import pytest

from lockgate_http.group import combined_reports
from support.answers import wait_for
from support.hostile import a_gigabyte, dripping_body, dripping_headers, garbage, relayed, reset_in_the_middle, silent
from support.members import MINUTE, Requests, at, create, member, process, state


def test_a_changed_drift_reaches_a_running_query_with_its_next_report(url: str, group: str) -> None:
    with member(url, group) as orders:
        orders.exchange(at(1_000))
        create(url, group, max_drift_ms=2 * MINUTE, catch_up="joint")
        assert orders.exchange(at(2_000)) == 2_000 + 2 * MINUTE
        assert (orders.max_drift, orders.joint) == (2 * MINUTE, True)


def test_a_changed_drift_reaches_a_query_whose_batch_is_long(url: str, group: str) -> None:
    create(url, group, lease_ms=600)
    with member(url, group) as orders:
        orders.exchange(at(1_000))
        create(url, group, max_drift_ms=2 * MINUTE)
        wait_for(lambda: orders.max_drift == 2 * MINUTE)


def test_a_lease_made_shorter_is_kept(url: str, group: str) -> None:
    create(url, group, lease_ms=6_000)
    requests = Requests()
    with member(url, group, transport=requests) as orders:
        orders.exchange(at(1_000))
        create(url, group, lease_ms=3_000)
        wait_for(lambda: orders._session.lease_s == 3)
        sent = len(requests.sent)
        wait_for(lambda: len(requests.sent) >= sent + 6)  # a lease has passed
        assert state(url, group) == "active"


def test_the_configuration_is_asked_for_once_and_after_each_change(url: str, group: str) -> None:
    requests = Requests()
    with member(url, group, transport=requests) as orders:
        for watermark in range(4):
            orders.exchange(at(watermark))
        assert requests.sent.count(f"GET {group}") == 1
        create(url, group, max_drift_ms=7)
        for watermark in range(4, 8):
            orders.exchange(at(watermark))
    assert requests.sent.count(f"GET {group}") == 2


def test_changed_drift_rules_and_the_querys_own_is_warned_of_once(
    url: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    with member(url, group, max_drift="1 minute") as orders:
        orders.exchange(at(1_000))
        create(url, group, max_drift_ms=2 * MINUTE)
        for watermark in (2_000, 3_000):
            assert orders.exchange(at(watermark)) == watermark + 2 * MINUTE
    assert caplog.text.count("the group's configuration has changed") == 1


@pytest.mark.parametrize(
    "behaviour", [a_gigabyte, dripping_body, dripping_headers, garbage, reset_in_the_middle, silent]
)
def test_a_stop_takes_the_timeout_and_a_second_at_most(
    url: str, group: str, behaviour: Callable[[socket.socket], None]
) -> None:
    create(url, group, lease_ms=300, update_interval_ms=20)
    with relayed(url) as (through, relay), member(through, group, timeout="1 second") as orders:
        orders.exchange(at(1_000))
        relay.turn(behaviour)
        wait_for(lambda: orders._session.outage.lasts or orders._session.client._running)  # the keeper is at it
        planning = threading.Thread(target=lambda: orders.exchange(at(2_000)))
        planning.start()
        began = time.monotonic()
        orders.close(at(3_000))
        assert time.monotonic() - began < 10  # eight more for a machine that does other things
        planning.join(20)
        assert not planning.is_alive()


class Slow(Requests):
    """Keeps back the first batch of reports that names `watermark`, before it is sent, until it is
    told.
    """

    def __init__(self, watermark: bytes) -> None:
        super().__init__()
        self._watermark, self.kept, self.go = watermark, threading.Event(), threading.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self._watermark in request.content and not self.kept.is_set():
            self.kept.set()
            await asyncio.to_thread(self.go.wait, 60)
        return await super().handle_async_request(request)


def test_report_under_way_at_the_end_is_taken_before_the_last_one(
    url: str, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combined_reports, "PATIENCE_S", 60.0)
    slow = Slow(b"7777")
    with process(url, group, "orders", "payments", transport=slow) as (orders, payments):
        for query in (orders, payments):
            query.exchange(at(1_000))
        planning = threading.Thread(target=lambda: orders.exchange(at(7_777)))
        planning.start()
        assert slow.kept.wait(60)
        ending = threading.Thread(target=lambda: orders.close(at(8_000)))
        ending.start()
        ending.join(0.2)  # it is to wait, and below its patience
        slow.go.set()
        ending.join(60)
        planning.join(60)
        assert state(url, group) == "finished"


def test_proxy_without_coordinator_for_a_while_is_an_outage(
    url: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    with relayed(url) as (through, relay), member(through, group, now=lambda: clock[0]) as orders:
        told = orders.exchange(at(1_000))
        relay.turn(lambda connection: connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"))
        assert orders.exchange(at(2_000)) == told
        relay.turn(None)
        clock[0] = 4.0
        assert orders.exchange(at(2_000)) == 2_000 + MINUTE
    assert "back after 4 s" in caplog.text


def test_no_news_of_the_group_end_an_outage_only_a_report_does(
    url: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    with (
        relayed(url) as (through, relay),
        member(through, group, now=lambda: clock[0], timeout="2 seconds") as orders,
        member(url, group, "late") as late,
    ):
        orders.exchange(at(5_000))
        relay.turn(silent)
        orders.exchange(at(6_000))
        relay.turn(None)
        late.exchange(at(1_000))
        wait_for(lambda: orders.ceiling == 1_000 + MINUTE)
        assert "back after" not in caplog.text
        clock[0] = 4.0
        orders.exchange(at(6_000))
    assert "back after 4 s" in caplog.text
