"""The coordinator is away: what a reader hands out, by the policy that its user has set."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lockgate_reader import CoordinatorUnavailable
from lockgate_reader.clock import now_s
from lockgate_testbed import topics
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from support.answers import wait_for
from support.http_readers import HttpReader
from support.services import Service, make_group

T0 = 1_767_225_600_000
RECORDS, BELOW = 60, 10
"""One record a second of event time; so many lie below the ceiling that was told last."""
LEASE_S = 1

pytestmark = pytest.mark.kafka


@contextmanager
def cut_off(
    kafka: KafkaBroker, topic: str, on_outage: str, **rules: object
) -> Iterator[tuple[Service, CoordinatorProcess]]:
    """A reader that another one of its group holds, and whose coordinator is away since then."""
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n * 1_000, None, b"v") for n in range(RECORDS)])
    outage = {"on_outage": on_outage, "hold_for": "500 milliseconds"}
    with CoordinatorProcess() as coordinator:
        make_group(coordinator.url, topic, max_drift_ms=BELOW * 1_000, on_lost_reader="hold", **rules)
        HttpReader(coordinator.url, topic, "slow").report(T0 - 1)
        with Service(kafka, topic, coordinator.url, topic, outage=outage) as service:
            wait_for(lambda: len(service.seen) == BELOW and service.status.waits_for == "reader slow/0")
            coordinator.kill()
            yield service, coordinator


def test_reader_holds_at_its_last_limit_until_the_coordinator_is_back(kafka: KafkaBroker, topic: str) -> None:
    lease = {"lease_ms": 3_000}  # a coordinator that has lost its memory waits so long for others
    with cut_off(kafka, topic, "hold", **lease) as (service, coordinator):
        wait_for(lambda: service.status.waits_for == "the coordinator")
        assert len(service.seen) == BELOW
        coordinator.start()
        make_group(coordinator.url, topic, max_drift_ms=BELOW * 1_000, **lease)
        wait_for(lambda: len(service.seen) == RECORDS)
    assert service.seen == [(0, offset) for offset in range(RECORDS)]


@pytest.mark.long
def test_reader_that_proceeds_passes_the_limit_while_its_lease_runs(kafka: KafkaBroker, topic: str) -> None:
    with cut_off(kafka, topic, "proceed") as (service, _):
        wait_for(lambda: len(service.seen) == RECORDS)


def test_a_reader_that_is_to_fail_ends_with_an_error_of_its_own(kafka: KafkaBroker, topic: str) -> None:
    with cut_off(kafka, topic, "fail") as (service, _):
        wait_for(lambda: service.ended)
    assert isinstance(service.failed, CoordinatorUnavailable)
    assert len(service.seen) == BELOW


def test_no_policy_returns_a_record_after_the_lease(kafka: KafkaBroker, topic: str) -> None:
    topics.create(kafka.bootstrap, topic, 1)
    topics.produce(kafka.bootstrap, topic, [(0, T0 + n * 1_000, None, b"v") for n in range(RECORDS)])
    late: list[float] = []
    with CoordinatorProcess() as coordinator:
        make_group(coordinator.url, topic, lease_ms=LEASE_S * 1_000)

        def work(record: object) -> None:
            if len(service.seen) == BELOW:
                coordinator.kill()
                killed_at = now_s()  # a lease that was renewed since `until` was sent before
                wait_for(lambda: now_s() >= max(until(), killed_at + LEASE_S))
            elif len(service.seen) > BELOW and away:
                late.append(now_s())

        def until() -> float:
            reader = service.consumer._reader
            assert reader is not None
            return reader.orders.until

        away = True
        outage = {"on_outage": "proceed", "hold_for": "0 seconds"}
        with Service(kafka, topic, coordinator.url, topic, work=work, outage=outage) as service:
            wait_for(lambda: len(service.seen) == BELOW + 1)
            wait_for(lambda: now_s() >= until() + 0.5)
            assert len(service.seen) == BELOW + 1
            away = False
            coordinator.start()
            wait_for(lambda: len(service.seen) == RECORDS)
    assert late == []
