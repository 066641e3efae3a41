"""A query's place in its group, against a real coordinator: the ceiling, the lease, outages,
fencing, the end.
"""

import httpx
import pytest

from lockgate.watermark import MIN
from lockgate.wire.events import GroupConfig, ReaderRegistrationEvent
from lockgate_http.calls.client import CoordinatorClient
from lockgate_http.config import Coordinator
from lockgate_http.errors import ConfigurationError, CoordinatorRefused, Fenced
from lockgate_http.group.agreement import source_name
from lockgate_http.group.source_status import SourceStatus
from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.redis import RedisServer
from support.answers import Answer, accepting_only, serving, wait_for
from support.members import MINUTE, STRICT, Requests, agreement, at, create, inspect, member, state


def test_a_report_registers_and_is_answered_with_the_ceiling(url: str, group: str) -> None:
    with member(url, group) as orders:
        assert orders.exchange(at(1_000)) == 1_000 + MINUTE
        assert (orders.max_drift, orders.joint) == (MINUTE, False)
        assert state(url, group) == "active"


def test_the_slowest_of_two_makes_the_ceiling_of_both(url: str, group: str) -> None:
    with member(url, group) as orders, member(url, group, "payments") as payments:
        orders.exchange(at(5_000))
        assert payments.exchange(at(1_000)) == 1_000 + MINUTE
        assert orders.exchange(at(6_000)) == 1_000 + MINUTE


def test_each_source_of_a_query_is_a_reader_of_its_own(url: str, group: str) -> None:
    with member(url, group) as orders:
        assert orders.exchange({0: SourceStatus(7_000, None), 1: SourceStatus(3_000, None)}) == 3_000 + MINUTE
        assert [reader["subtask"] for reader in inspect(url, group)["readers"]] == [0, 1]
        assert orders.epoch(1)
        assert orders.epoch(2) is None


def test_unchanged_report_is_not_sent_before_the_interval_has_passed(url: str, group: str) -> None:
    create(url, group, update_interval_ms=10_000)
    clock, requests = [0.0], Requests()
    with member(url, group, transport=requests, now=lambda: clock[0]) as orders:
        orders.exchange(at(1_000))
        before = len(requests.sent)
        for clock[0] in (1.0, 9.9):
            orders.exchange(at(1_000))
        assert len(requests.sent) == before
        orders.exchange(at(1_001))
        assert len(requests.sent) == before + 1
        clock[0] = 20.0
        orders.exchange(at(1_001))
        assert requests.sent[before:] == ["POST watermarks"] * 2


def test_a_wait_without_news_ends_after_its_time(url: str, group: str) -> None:
    with member(url, group) as orders:
        assert not orders.wait_for_change(10), "nothing was told yet"
        orders.exchange(at(500_000))
        assert not orders.wait_for_change(50)
        assert orders.ceiling == 500_000 + MINUTE


def test_next_report_brings_back_a_group_that_is_gone(url: str, group: str) -> None:
    with member(url, group, max_batch=1) as orders:  # so that the keeper does not report first
        orders.exchange(at(1_000))
        httpx.delete(f"{url}/v1/groups/{group}", timeout=60).raise_for_status()
        assert orders.wait_for_change(10_000)
        assert orders.exchange(at(2_000)) == 1_000 + MINUTE, "the ceiling last told caps the new group"
        assert state(url, group) == "active"


@pytest.mark.parametrize("store", ["memory", pytest.param("redis", marks=pytest.mark.long)])
def test_group_keeps_configuration_and_ceiling_after_an_outage(
    redis_server: RedisServer, topic: str, store: str
) -> None:
    clock = [0.0]
    with CoordinatorProcess("memory://" if store == "memory" else redis_server.url) as coordinator:
        create(coordinator.url, topic)
        with (
            member(coordinator.url, topic, now=lambda: clock[0], timeout="2 seconds") as orders,
            member(coordinator.url, topic, "payments", timeout="2 seconds") as payments,
        ):
            payments.exchange(at(1_000))
            told = orders.exchange(at(5_000))
            coordinator.kill()
            orders.exchange(at(6_000))
            coordinator.start()
            clock[0] = 10.0
            assert orders.exchange(at(7_000)) == told == 1_000 + MINUTE
            config = httpx.get(f"{coordinator.url}/v1/groups/{topic}", timeout=60).json()["config"]
    assert {key: config[key] for key in STRICT} == STRICT


def test_an_outage_is_said_once_when_it_begins_and_once_when_it_ends(
    topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = [0.0]
    with (
        CoordinatorProcess() as coordinator,
        member(coordinator.url, topic, now=lambda: clock[0], timeout="2 seconds") as orders,
    ):
        orders.exchange(at(1_000))
        coordinator.kill()
        for clock[0] in (10.0, 10.1, 20.0):
            orders.exchange(at(2_000))
        coordinator.start()
        clock[0] = 30.0
        orders.exchange(at(2_000))
    said = [record.getMessage() for record in caplog.records if record.name == "lockgate"]
    assert len(said) == 2
    assert "orders stays at the last read limit" in said[0]
    assert "back after 20 s" in said[1]


def test_during_an_outage_it_is_asked_twice_a_second_and_not_more() -> None:
    clock, requests = [0.0], Requests()
    with (
        accepting_only() as url,
        member(url, "g", transport=requests, now=lambda: clock[0], timeout="1 second") as orders,
    ):
        for clock[0] in (0.0, 0.1, 0.4, 0.6, 0.9):
            assert orders.exchange(at(int(clock[0] * 10))) == MIN
    assert requests.sent == ["POST readers"] * 2


def test_another_query_s_reader_is_refused_with_the_owner_s_name(url: str, group: str) -> None:
    with member(url, group, owner="the first") as first, member(url, group, owner="the second") as second:
        first.exchange(at(1_000))
        with pytest.raises(CoordinatorRefused, match=r"reader-busy.*the first"):
            second.exchange(at(1_000))


@pytest.mark.parametrize("update_interval_ms", [50, 60_000])
def test_the_lease_is_kept_while_nobody_plans(url: str, group: str, update_interval_ms: int) -> None:
    create(url, group, lease_ms=3_000, update_interval_ms=update_interval_ms)
    requests = Requests()
    with member(url, group, transport=requests) as orders:
        orders.exchange(at(1_000))
        sent = len(requests.sent)
        wait_for(
            lambda: len(requests.sent) >= sent + 6
        )  # a lease is heard of four times at least, so one of them has passed
        assert state(url, group) == "active"


def test_the_end_reports_finished(url: str, group: str) -> None:
    with member(url, group) as orders:
        orders.exchange(at(1_000, reach=9_000))
        orders.close(at(2_000, reach=9_000))
        assert state(url, group) == "finished"


def test_scheduled_run_parks_its_readers_at_its_end(url: str, group: str) -> None:
    with member(url, group, park="1 day") as orders, member(url, group, "payments", park="1 day") as payments:
        for query in (orders, payments):
            query.exchange(at(1_000, reach=9_000))
        orders.close(at(2_000, reach=9_000), returns=True)
        payments.close(at(3_000))
        assert (state(url, group), state(url, group, "payments")) == ("parked", "finished")
    with member(url, group, run="2") as again:
        assert again.exchange(at(2_000)) == 2_000 + MINUTE
        assert state(url, group) == "active"


def test_an_end_without_standings_lets_the_lease_run_out(url: str, group: str) -> None:
    create(url, group, lease_ms=300, update_interval_ms=50)
    with member(url, group) as orders:
        orders.exchange(at(1_000))
    assert state(url, group) in ("active", "lost")
    wait_for(lambda: state(url, group) == "lost")


def test_the_end_comes_though_nobody_hears_it(topic: str, caplog: pytest.LogCaptureFixture) -> None:
    with CoordinatorProcess() as coordinator, member(coordinator.url, topic, timeout="2 seconds") as orders:
        orders.exchange(at(1_000))
        coordinator.kill()
        orders.close(at(1_000))
    assert "the coordinator did not receive the last report of orders" in caplog.text


def test_answer_after_the_end_of_the_lease_lets_no_query_run_free(url: str, group: str) -> None:
    # Alone in the group and lost, the coordinator's word to who only looks is MAX: nobody counts.
    create(url, group, lease_ms=200, update_interval_ms=60_000)
    requests = Requests()
    with member(url, group, transport=requests) as orders:
        orders.exchange(at(1_000))
        requests.after = lambda request: (
            wait_for(lambda: state(url, group) == "lost") if request.method == "POST" else None
        )
        orders.exchange(at(2_000))
        requests.after = lambda _: None
        orders.wait_for_change(20)
        assert orders.ceiling == 2_000 + MINUTE


def test_news_of_a_coordinator_without_memory_are_not_obeyed(topic: str) -> None:
    clock = [0.0]
    with CoordinatorProcess() as coordinator:
        create(coordinator.url, topic, lease_ms=600_000)
        with (
            member(coordinator.url, topic, max_batch="1 second", now=lambda: clock[0]) as orders,
            member(coordinator.url, topic, "stranger") as stranger,
        ):
            told = orders.exchange(at(1_000))
            clock[0] = 2.0  # so that the keeper does not register "orders" again
            coordinator.kill()
            coordinator.start()
            create(coordinator.url, topic, lease_ms=600_000)
            assert stranger.exchange(at(9 * MINUTE)) == 10 * MINUTE
            orders.wait_for_change(1_000)
            assert orders.ceiling == told
            assert orders.exchange(at(1_000)) == told


def test_reach_lets_a_joint_group_go_as_far_as_all_get(url: str, group: str) -> None:
    create(url, group, catch_up="joint")
    with member(url, group) as orders, member(url, group, "payments") as payments:
        orders.exchange(at(1_000, reach=900_000))
        assert payments.exchange(at(1_000, reach=700_000)) == 700_000


def test_drift_other_than_the_groups_stops_the_query_at_its_first_report(url: str, group: str) -> None:
    with (
        member(url, group, max_drift="2 minutes") as orders,
        pytest.raises(ConfigurationError, match=r"'2 minutes'.*'1 minute'"),
    ):
        orders.exchange(at(1_000))


def test_a_drift_not_above_the_disorder_could_never_read() -> None:
    mine = agreement(Coordinator("http://localhost", group="g"), disorder="1 minute")
    mine.check(GroupConfig(max_drift_ms=MINUTE + 1))
    with pytest.raises(ConfigurationError, match="could never read"):
        mine.check(GroupConfig(max_drift_ms=MINUTE))


def test_created_group_has_the_querys_drift_and_way_to_catch_up(url: str, topic: str) -> None:
    with member(url, topic, max_drift="3 minutes", catch_up="strict") as orders:
        assert orders.exchange(at(1_000)) == 1_000 + 3 * MINUTE
        assert (orders.max_drift, orders.joint) == (3 * MINUTE, False)


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_stops_the_query_and_is_no_outage(status: int) -> None:
    with serving(Answer(status)) as url, member(url, "g") as orders, pytest.raises(CoordinatorRefused, match=r"token"):
        orders.exchange(at(1_000))


def test_refused_renewal_is_logged_once_and_fences_the_next_plan(
    url: str, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    create(url, group, lease_ms=200, update_interval_ms=20)
    with member(url, group, owner="q", run="1") as older:
        older.exchange(at(1_000))
        with member(url, group, owner="q", run="2") as newer:
            newer.exchange(at(1_000))
            wait_for(lambda: older._failed and "stopped renewing the lease" in caplog.text)
            with pytest.raises(Fenced, match="run 2 of query q took over from source orders, run 1 of query q"):
                older.exchange(at(2_000))
    assert caplog.text.count("stopped renewing the lease of orders") == 1


def test_a_registration_that_was_applied_twice_fences_nobody(url: str, group: str) -> None:
    # The first one's answer was lost, the second one's came, and only then the first one was
    # applied.
    with member(url, group) as orders, CoordinatorClient(Coordinator(url, group=group)) as late:
        orders.exchange(at(1_000))
        again = ReaderRegistrationEvent(subtask=0, owner="query of orders", attributes={"run": "1"})
        epoch = late.register("orders", again).epoch
        assert orders.exchange(at(2_000)) == 2_000 + MINUTE
        assert orders.epoch(0) == epoch


@pytest.mark.parametrize(
    ("chosen", "name", "expected"),
    [
        ("mine", "query", "mine"),
        (None, "my query/1", "my-query-1"),
        (None, None, "the-id"),
        (None, "x" * 300, "x" * 255),
        (None, "..", "--"),
    ],
)
def test_a_source_is_named_by_choice_or_by_its_query(chosen: str | None, name: str | None, expected: str) -> None:
    assert source_name(chosen, name, "the-id") == expected
