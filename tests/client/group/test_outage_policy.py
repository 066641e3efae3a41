"""What a query does while its coordinator cannot be reached, by policy, and how soon it is back."""

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lockgate.watermark import MAX, MIN
from lockgate_http.config import Coordinator
from lockgate_http.errors import CoordinatorUnavailable
from lockgate_http.group.membership import Membership
from lockgate_http.group.outage import Coordination, Outage, Policy
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import accepting_only, wait_for
from support.members import MINUTE, at, create, inspect, member, pause

FAST = "100 milliseconds"


@contextmanager
def proceeding(group: str) -> Iterator[tuple[CoordinatorProcess, Membership, list[float]]]:
    """A coordinator, a query that goes on a minute after it is away, and that query's clock."""
    clock = [0.0]
    with CoordinatorProcess() as coordinator:
        create(coordinator.url, group)
        means = {"now": lambda: clock[0], "timeout": "2 seconds"}
        with member(coordinator.url, group, on_outage="proceed", hold_for="1 minute", **means) as orders:
            yield coordinator, orders, clock


@pytest.mark.parametrize(
    ("on_outage", "lasted_s", "in_force", "fails"),
    [
        ("hold", None, Coordination.CONNECTED, False),
        ("hold", 1e9, Coordination.HOLDING, False),
        ("proceed", 299.9, Coordination.HOLDING, False),
        ("proceed", 300.0, Coordination.PROCEEDING, False),
        ("fail", 299.9, Coordination.HOLDING, False),
        ("fail", 300.0, Coordination.HOLDING, True),
    ],
)
def test_what_is_in_force_after_a_time(
    on_outage: str, lasted_s: float | None, in_force: Coordination, fails: bool
) -> None:
    policy = Policy.of(Coordinator("http://coordinator", group="g", on_outage=on_outage, hold_for="5 minutes"))
    assert (policy.in_force(lasted_s), policy.fails(lasted_s)) == (in_force, fails)


def test_an_outage_lasts_from_its_first_failure() -> None:
    clock = [10.0]
    outage = Outage("g", lambda: clock[0])
    assert outage.lasted_s is None
    for clock[0] in (20.0, 21.0):
        outage.begins(ValueError("no answer"), "it waits")
    assert outage.lasted_s == 1.0


def test_proceeding_query_obeys_the_ceiling_again_after_the_outage(
    topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    with proceeding(topic) as (coordinator, orders, clock):
        told = orders.exchange(at(1_000))
        coordinator.kill()
        assert (orders.exchange(at(2_000)), orders.coordination) == (told, Coordination.HOLDING)
        clock[0] = 60.0
        assert orders.has_news, "a query that waits is to go on"
        assert (orders.exchange(at(3_000)), orders.coordination) == (MAX, Coordination.PROCEEDING)
        assert not orders.has_news
        coordinator.start()
        ticks = itertools.count(61.0)
        wait_for(lambda: orders.has_news or clock.__setitem__(0, next(ticks)))
        assert (orders.exchange(at(4_000)), orders.coordination) == (told, Coordination.CONNECTED)
    assert caplog.text.count("orders continues without the group's read limit") == 1
    assert "orders stays at the last read limit, 1970-01-01T00:01:01.000Z, and proceeds after 1 min" in caplog.text


def test_a_query_that_an_operator_has_paused_does_not_proceed_in_an_outage(topic: str) -> None:
    with proceeding(topic) as (coordinator, orders, clock):
        assert orders.exchange(at(1_000)) > MIN
        pause(coordinator.url, topic)
        clock[0] = 100.0  # the report is due again
        assert (orders.exchange(at(2_000)), orders.coordination) == (MIN, Coordination.CONNECTED)
        coordinator.kill()
        clock[0] = 200.0
        orders.exchange(at(3_000))
        clock[0] = 270.0
        assert (orders.exchange(at(3_000)), orders.coordination) == (MIN, Coordination.PROCEEDING)


def test_query_that_never_reached_its_coordinator_proceeds_too() -> None:
    clock = [0.0]
    with (
        accepting_only() as url,
        member(url, "g", now=lambda: clock[0], timeout=FAST, on_outage="proceed", hold_for=1_000) as orders,
    ):
        assert orders.exchange(at(1_000)) == MIN
        clock[0] = 1.0
        assert orders.exchange(at(1_000)) == MAX


def test_query_that_fails_names_the_group_and_how_long_it_waited() -> None:
    clock = [0.0]
    with (
        accepting_only() as url,
        member(url, "g", now=lambda: clock[0], timeout=FAST, on_outage="fail", hold_for="30 seconds") as orders,
    ):
        assert orders.exchange(at(1_000)) == MIN
        clock[0] = 30.0
        with pytest.raises(CoordinatorUnavailable, match=r"group g: .* for 30 s.*on_outage='fail'.*orders"):
            orders.exchange(at(1_000))


@pytest.mark.parametrize("away", ["coordinator", pytest.param("redis", marks=pytest.mark.long)])
def test_a_query_in_a_long_batch_is_back_within_two_update_intervals(topic: str, away: str) -> None:
    with RedisServer() as redis, CoordinatorProcess("memory://" if away == "coordinator" else redis.url) as coordinator:
        create(coordinator.url, topic, update_interval_ms=3_000, lease_ms=9_000)
        with (
            member(coordinator.url, topic, timeout="2 seconds") as orders,
            member(coordinator.url, topic, "payments", timeout="2 seconds") as payments,
        ):
            for query in (orders, payments):
                query.exchange(at(5_000))
            server = coordinator if away == "coordinator" else redis
            server.stop()
            wait_for(lambda: orders._session.outage.lasts and payments._session.outage.lasts)
            server.start()
            began = time.monotonic()
            wait_for(lambda: not orders._session.outage.lasts and not payments._session.outage.lasts)
            took_s = time.monotonic() - began
        assert took_s < 6.0
        assert inspect(coordinator.url, topic)["readers"][0]["watermark"] == 5_000
        assert orders.ceiling == payments.ceiling == 5_000 + MINUTE
