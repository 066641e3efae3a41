"""Spark applications in processes of their own, in one group over two coordinators on one Redis:
exact, level, over each other's ends.
"""

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.more.group.announced import Announced

from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.redis import RedisServer
from lockgate_testbed.skew import HOUR_MS, SkewedTopic
from support.answers import wait_for
from support.drivers import PATIENCE_S, Driver, Order
from support.exact_sink import Written, all_rows, worst_drift

RECORDS = 8_000
DRIFT_MS = 3 * HOUR_MS
LEASE_S = 6.0
# An application may hear an announcement before this process does, which other tests run beside.
HEARD_LATER_S = 1.0
GROUP = {"max_drift_ms": DRIFT_MS, "lease_ms": int(1000 * LEASE_S), "update_interval_ms": 200, "catch_up": "strict"}
DAY = SkewedTopic("a-day-for-applications", weights=(1, 2, 4, 8), records=RECORDS)
COUNTS = dict(enumerate(DAY.counts()))


class Applications:
    """Orders for one group, half of them over each coordinator; started applications are killed at
    the end.
    """

    def __init__(self, bootstrap: str, urls: tuple[str, str], folder: Path) -> None:
        self.urls, self._bootstrap, self._folder = urls, bootstrap, folder
        self._group = f"{folder.name}-{time.time_ns()}"
        self._orders = 0
        self._ends = ExitStack()

    def configure(self, **config: Any) -> None:
        httpx.put(f"{self.urls[0]}/v1/groups/{self._group}", json={**GROUP, **config}).raise_for_status()

    def listen(self) -> list[Announced]:
        """Observers that take no part, one at each coordinator: one coordinator may announce a
        change before the other has it.
        """
        heard = [Announced(url, self._group) for url in self.urls]
        for each in heard:
            self._ends.callback(each.close)
        wait_for(lambda: all(each.highest_until(time.time()) is not None for each in heard))
        return heard

    def readers(self) -> dict[str, str]:
        """The state of each source's reader, by the other coordinator."""
        found = httpx.get(f"{self.urls[1]}/v1/groups/{self._group}", timeout=60).raise_for_status().json()
        return {source["source"]: reader["state"] for source in found["sources"] for reader in source["readers"]}

    def order(self, name: str, **more: Any) -> Order:
        coordinator = {
            "url": self.urls[self._orders % 2],
            "group": self._group,
            "timeout": "1 minute",
        }  # none of them is ever away
        self._orders += 1
        order = Order(
            name,
            self._bootstrap,
            DAY.name,
            budget=RECORDS // 8,
            folder=str(self._folder / name),
            coordinator=coordinator,
        )
        return replace(order, **more)

    def start(self, order: Order) -> Driver:
        driver = Driver(order)
        self._ends.callback(driver.kill)
        return driver

    def close(self) -> None:
        self._ends.close()


@pytest.fixture(scope="module")
def urls(redis_server: RedisServer) -> Iterator[tuple[str, str]]:
    with CoordinatorProcess(redis_server.url) as first, CoordinatorProcess(redis_server.url) as second:
        yield first.url, second.url


@pytest.fixture(scope="module")
def day(kafka: KafkaBroker) -> SkewedTopic:
    topics.load(kafka.bootstrap, DAY)
    return DAY


@pytest.fixture
def applications(kafka: KafkaBroker, urls: tuple[str, str], day: SkewedTopic, tmp_path: Path) -> Iterator[Applications]:
    running = Applications(kafka.bootstrap, urls, tmp_path)
    yield running
    running.close()


def exact(order: Order) -> Written:
    """The application's output: every row, once, and no plan above the ceiling."""
    written = Written.to(Path(order.out))
    assert written.rows == all_rows(DAY.counts())
    assert not written.above_the_ceiling
    return written


@pytest.mark.long
def test_two_applications_over_two_coordinators_stay_level_though_one_is_throttled(applications: Applications) -> None:
    applications.configure(
        expected_sources=["fast", "throttled"], lease_ms=120_000
    )  # neither is lost, however long one stands still
    heard = applications.listen()
    orders = applications.order("fast"), applications.order("throttled", per_second=RECORDS / 5)
    drivers = [applications.start(order) for order in orders]
    for driver in drivers:
        driver.finish()
    fast, throttled = map(exact, orders)
    assert 0 < worst_drift(fast, throttled, DAY.event_time, COUNTS) <= DRIFT_MS
    assert worst_drift(throttled, fast, DAY.event_time, COUNTS) <= DRIFT_MS
    for plan in (*fast.plans, *throttled.plans):
        announced = [each.highest_until(plan.planned_at + HEARD_LATER_S) for each in heard]
        assert max(plan.target, plan.highest) <= max(ceiling for ceiling in announced if ceiling is not None)
    assert {plan.coordinator for plan in fast.plans} == {"connected"}
    assert applications.readers() == {"fast": "finished", "throttled": "finished"}


@pytest.mark.long
def test_a_second_run_of_a_query_takes_over_and_the_first_stops_with_an_error_that_names_both(
    applications: Applications,
) -> None:
    applications.configure(expected_sources=["taken", "never"])
    order = applications.order("taken")
    first = applications.start(order)
    wait_for(lambda: "taken" in applications.readers(), PATIENCE_S)
    second = applications.start(order)
    named = re.search(
        r"run (\S+) of query (\S+) took over from source taken, run (\S+) of query ([^\s:]+)", first.fail()
    )
    assert named is not None
    assert named[1] != named[3]
    assert named[2] == named[4], "both are runs of one query"
    applications.configure()  # nobody is waited for any longer
    second.finish()
    exact(order)


@pytest.mark.long
def test_four_applications_of_which_one_is_throttled_one_restarted_and_one_killed_for_good_stay_exact(
    applications: Applications,
) -> None:
    names = ("fast", "throttled", "restarted", "killed")
    applications.configure(expected_sources=list(names))
    slow = {"throttled": RECORDS / 30, "restarted": RECORDS / 10, "killed": RECORDS / 10}
    orders = {name: applications.order(name, per_second=slow.get(name)) for name in names}
    drivers = {name: applications.start(order) for name, order in orders.items()}
    drivers["restarted"].read_until("begins 2")
    restarted_at = time.time()
    drivers["restarted"].kill()
    drivers["restarted"] = applications.start(orders["restarted"])
    drivers["killed"].read_until("begins 2")
    killed_at = time.time()
    drivers["killed"].kill()
    for name in ("fast", "throttled", "restarted"):
        drivers[name].finish()
    left = Written.to(Path(orders["killed"].out))
    assert set(left.rows.values()) <= {1}
    assert left.rows.total() < RECORDS
    written = {name: exact(orders[name]) for name in ("fast", "throttled", "restarted")}
    # A last report may have been made a third of a lease before one died; until its lease ended
    # nobody went further than it allows.
    lasts_s = LEASE_S * 2 / 3
    for each in written.values():
        assert worst_drift(until(each, killed_at + lasts_s), left, DAY.event_time, COUNTS) <= DRIFT_MS
    planned_again = next(plan for plan in written["restarted"].plans if plan.planned_at > restarted_at)
    # by the end of which all have heard of it
    again_at, _ = written["restarted"].batches[planned_again.batch_id]
    for one, other in permutations(written, 2):
        since_s = 0.0
        if other == "restarted":  # between the end of its lease and its return nobody waits for it
            assert (
                worst_drift(until(written[one], restarted_at + lasts_s), written[other], DAY.event_time, COUNTS)
                <= DRIFT_MS
            ), one
            since_s = again_at
        assert worst_drift(written[one], written[other], DAY.event_time, COUNTS, since_s) <= DRIFT_MS, (one, other)
    assert applications.readers()["killed"] == "lost"


def until(written: Written, time_s: float) -> Written:
    """Its plans up to a wall clock."""
    return replace(written, plans=tuple(plan for plan in written.plans if plan.planned_at < time_s))
