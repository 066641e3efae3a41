"""`wait_until` over a real coordinator: what wakes it, what it asks, and what ends it."""

import threading
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from lockgate.watermark import MAX
from lockgate_http import AlignmentError, Coordinator, wait_until, waiting
from lockgate_http.calls.answers import NotRegistered, Unreachable
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.errors import ConfigurationError
from lockgate_testbed.coordinator import CoordinatorProcess
from support.answers import wait_for
from support.http_readers import HttpReader, subscribers
from support.members import Requests

TEN = datetime(2026, 1, 1, 10, tzinfo=timezone.utc)
UNTIL = round(TEN.timestamp() * 1000)
MINUTE = 60_000


def configure(url: str, group: str, lease_ms: int = 100) -> None:
    config = {"max_drift_ms": MINUTE, "lease_ms": lease_ms}
    httpx.put(f"{url}/v1/groups/{group}", json=config, timeout=60).raise_for_status()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come ten times a second at most, and once a second at least."""
    monkeypatch.setattr(waiting, "LOOKS_APART_S", 0.1)
    monkeypatch.setattr(waiting, "LOOK_AGAIN_S", 1.0)


@pytest.fixture
def readers(url: str, topic: str) -> Callable[..., HttpReader]:
    """Return what makes a reader of the test's own group, which is new for a tenth of a second."""
    configure(url, topic)
    return lambda source="orders", **more: HttpReader(url, topic, source, **more)


class Waiting(threading.Thread):
    """A call of `wait_until` in a thread of its own, and what comes of it."""

    def __init__(self, url: str, group: str, timeout: str = "1 minute") -> None:
        super().__init__(daemon=True)
        self.found: bool | AlignmentError | None = None
        self._call = lambda: wait_until(Coordinator(url, group=group, timeout="1 minute"), TEN, timeout)
        self.start()

    def run(self) -> None:
        try:
            self.found = self._call()
        except AlignmentError as error:
            self.found = error


def once(url: str, group: str) -> bool:
    return wait_until(Coordinator(url, group=group, timeout="1 minute"), TEN, timeout=0)


def after_the_lease(url: str, group: str, state: str = "lost") -> None:
    """Wait until the group is no longer new, and a reader of `orders` is in this state."""

    def reached() -> bool:
        found = httpx.get(f"{url}/v1/groups/{group}", timeout=60).json()
        of_orders = {each["source"]: each["readers"] for each in found["sources"]}.get("orders", [])
        old = found["now"] >= found["created_at"] + found["config"]["lease_ms"]
        return old and any(reader["state"] == state for reader in of_orders)

    wait_for(reached)


def test_a_group_is_waited_for_until_its_last_reader_has_passed(url: str, topic: str, readers: Any) -> None:
    orders, payments = readers(), readers("payments")
    orders.report(UNTIL)
    waits = Waiting(url, topic)
    payments.report(UNTIL - MINUTE)
    payments.report(UNTIL - 1)
    waits.join(60)

    assert waits.found is True


def test_the_time_that_is_out_is_no_error(url: str, topic: str, readers: Any) -> None:
    readers().report(UNTIL - MINUTE)

    assert wait_until(Coordinator(url, group=topic), TEN, timeout="300 milliseconds") is False


def test_a_lost_reader_holds_the_promise_until_it_is_evicted(url: str, topic: str, readers: Any) -> None:
    readers().report(UNTIL - MINUTE)
    readers("payments").report(UNTIL)
    after_the_lease(url, topic)
    assert once(url, topic) is False  # though the group goes on without it

    waits = Waiting(url, topic)
    path = f"{url}/v1/groups/{topic}/sources/orders/readers/0"
    httpx.delete(path, params={"force": "true"}, timeout=60).raise_for_status()
    waits.join(60)  # this makes no event, since the reader did not count

    assert waits.found is True


def test_a_query_that_was_stopped_in_its_backlog_has_not_passed(url: str, topic: str, readers: Any) -> None:
    parts = {"orders-0": {"watermark": UNTIL - MINUTE}}
    orders = readers()
    orders.report(UNTIL - MINUTE, splits=parts)
    orders.report(UNTIL - MINUTE, finished=True)
    after_the_lease(url, topic, "finished")

    assert once(url, topic) is False
    readers().report(UNTIL - 1, splits={"orders-0": {"watermark": UNTIL - 1}})
    assert once(url, topic) is True


def test_idle_readers_do_not_pass_a_time_to_come(url: str, topic: str, readers: Any) -> None:
    configure(url, topic, lease_ms=2_000)
    idle, now = readers(), datetime.now(timezone.utc)

    def passed(event_time: datetime) -> bool:
        idle.report(MAX, idle=True)
        return wait_until(Coordinator(url, group=topic, timeout="1 minute"), event_time, 0)

    wait_for(lambda: passed(now - timedelta(hours=1)))  # once the group is no longer new
    assert httpx.get(f"{url}/v1/groups/{topic}/alignment", timeout=60).json()["group_watermark"] == MAX
    assert not passed(now + timedelta(hours=1))


def test_an_empty_group_has_not_passed(url: str, topic: str, readers: Any) -> None:
    assert once(url, topic) is False
    one = readers()
    one.report(UNTIL)
    after_the_lease(url, topic)
    assert once(url, topic) is True
    path = f"{url}/v1/groups/{topic}/sources/orders/readers/0"
    httpx.delete(path, params={"epoch": one.epoch}, timeout=60).raise_for_status()
    assert once(url, topic) is False


def test_reports_below_the_time_make_no_request(url: str, topic: str, readers: Any) -> None:
    configure(url, topic, lease_ms=2_000)
    transport, orders, shown = Requests(), readers(), list[str]()
    orders.report(UNTIL - 2_000 * MINUTE)

    def show(why: str) -> None:
        shown.append(why)
        if len(shown) <= 100:
            orders.report(UNTIL - 1 if len(shown) == 100 else UNTIL - (1_000 - len(shown)) * MINUTE)

    with CoordinatorClient(Coordinator(url, group=topic, timeout="1 minute"), transport) as client:
        found = waiting.wait(client, lambda: waiting.look(client.pages, topic, UNTIL), UNTIL, 60, show)

    assert (found.passed, transport.listened) == (True, ["events"])
    assert "it waits for orders/0" in shown[0]
    assert len(transport.sent) < 40  # a few looks, while the group is new


def test_where_no_stream_comes_through_long_polls_do(url: str, topic: str, readers: Any) -> None:
    transport, orders = Requests(streams=False), readers()
    orders.report(UNTIL - MINUTE)

    def show(_: str) -> None:
        orders.report(UNTIL)

    with CoordinatorClient(Coordinator(url, group=topic, timeout="1 minute"), transport) as client:
        assert waiting.wait(client, lambda: waiting.look(client.pages, topic, UNTIL), UNTIL, 60, show).passed
    assert "alignment" in transport.listened


def test_a_group_that_does_not_exist_is_an_error_at_once(url: str) -> None:
    with pytest.raises(NotRegistered):
        wait_until(Coordinator(url, group="nowhere"), TEN)


def test_a_coordinator_that_cannot_be_reached_is_an_error_at_once() -> None:
    with pytest.raises(Unreachable):
        wait_until(Coordinator("http://127.0.0.1:1", group="g", timeout="100 milliseconds"), TEN)


@pytest.fixture
def two_lives() -> Iterator[tuple[CoordinatorProcess, Callable[[], CoordinatorProcess]]]:
    """Yield a coordinator in memory, and what starts it at its address after it was killed."""
    started: list[CoordinatorProcess] = []
    with CoordinatorProcess() as first:
        port = int(first.url.rpartition(":")[2])

        def again() -> CoordinatorProcess:
            started.append(CoordinatorProcess(port=port))
            started[0].start()
            return started[0]

        yield first, again
        for each in started:
            each.stop()


def test_a_wait_outlives_a_restart_and_passes_no_reader_that_is_away(
    two_lives: tuple[CoordinatorProcess, Callable[[], CoordinatorProcess]],
) -> None:
    first, again = two_lives
    config = {"lease_ms": 1_000}
    readers = [HttpReader(first.url, "g", source, config=config) for source in ("orders", "payments")]
    for each in readers:
        each.report(UNTIL - MINUTE)
    waits = Waiting(first.url, "g")
    wait_for(lambda: subscribers(first.url) > 0)
    first.kill()
    second = again()
    late = HttpReader(second.url, "g", "payments", config=config)  # a new group
    HttpReader(second.url, "g", "orders", config=config).report(UNTIL)
    late.report(UNTIL - MINUTE)
    assert waits.is_alive()
    late.report(UNTIL)
    waits.join(60)

    assert waits.found is True


def test_an_event_time_without_a_zone_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="a datetime with a time zone"):
        wait_until(Coordinator("http://127.0.0.1:1", group="g"), datetime(2026, 1, 1))  # noqa: DTZ001
