"""What the queries of one process share in a group: a connection, batches, the keeper, the news;
and that nothing of it is left behind.
"""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

import support
from lockgate_http.config import Coordinator
from lockgate_http.errors import Fenced
from lockgate_http.group.group_session import GroupSession
from lockgate_http.group.membership import Membership
from support.answers import wait_for
from support.members import MINUTE, Requests, agreement, at, create, member, process, state


def threads() -> set[threading.Thread]:
    """Ours. What is there before a test may still be about to end."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("lockgate")}


def sockets(url: str) -> set[str]:
    """Of this process, to the coordinator."""
    port = f":{httpx.URL(url).port:04X}"
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    to_it = {f"socket:[{row[9]}]" for row in rows if row[2].endswith(port)}
    found = set[str]()
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the listing's own
            found.add(os.readlink(fd))
    return found & to_it


# -- one for all --


def test_queries_of_one_group_share_a_session_whatever_is_their_own(url: str, topic: str) -> None:
    before = threads()
    first = GroupSession.joined(Coordinator(url, group=topic, source="orders"))
    second = GroupSession.joined(Coordinator(url, group=topic, source="payments", on_outage="fail", catch_up="strict"))
    assert second is first
    assert len(threads() - before) == 2
    other = GroupSession.joined(Coordinator(url, group=topic, token="another"))
    assert other is not first
    for session in (first, second, other):
        session.leave(session)  # type: ignore[arg-type]  # nobody had entered
    wait_for(lambda: not threads() - before)


def test_the_last_query_closes_the_session_and_the_next_one_opens_another(url: str, group: str) -> None:
    coordinator = Coordinator(url, group=group)
    sessions = [GroupSession.joined(coordinator) for _ in range(2)]
    one, other = (
        Membership(session, coordinator, agreement(coordinator), name, name, "1")
        for session, name in zip(sessions, "ab", strict=True)
    )
    one.exchange(at(1_000))
    one.close()
    assert other.exchange(at(2_000)) == 1_000 + MINUTE, "the first one's lease still runs"
    other.close()
    again = GroupSession.joined(coordinator)
    assert again is not sessions[0]
    again.leave(other)


def test_after_the_last_query_no_thread_and_no_socket_is_left(url: str, group: str) -> None:
    threads_before, sockets_before = threads(), sockets(url)
    with process(url, group, "orders", "payments") as (orders, payments):
        orders.exchange(at(1_000))
        payments.exchange(at(1_000))
        wait_for(lambda: sockets(url) - sockets_before)
        orders.close(at(2_000))
        payments.close()
        wait_for(lambda: not threads() - threads_before and not sockets(url) - sockets_before)


# In a process of its own: this one has threads of Spark and py4j, whose locks a fork would inherit.
FORK = """
import os, sys
from lockgate_http.config import Coordinator
from lockgate_http.group.membership import Membership
from lockgate_http.group.group_session import GroupSession
from support.members import MINUTE, agreement, at

coordinator = Coordinator(sys.argv[1], group=sys.argv[2])
session = GroupSession.joined(coordinator)
parents = Membership(session, coordinator, agreement(coordinator), "orders", "orders", "1")
parents.exchange(at(1_000))
child = os.fork()
if child == 0:
    fine = False
    try:
        fresh = GroupSession.joined(coordinator)
        own = Membership(fresh, coordinator, agreement(coordinator), "payments", "payments", "1")
        fine = fresh is not session and own.exchange(at(500)) == 500 + MINUTE
        session.client.close()
    finally:
        os._exit(0 if fine else 1)
assert os.waitpid(child, 0)[1] == 0
assert parents.exchange(at(2_000)) == 500 + MINUTE
parents.close()
"""


def test_forked_process_begins_without_its_parents_session(url: str, group: str) -> None:
    tests = str(Path(support.__path__[0]).parent)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, url, group]
    subprocess.run(
        command, check=True, timeout=60, env={**os.environ, "PYTHONPATH": os.pathsep.join((tests, *sys.path))}
    )


# -- reports --


def test_a_query_that_is_due_soon_goes_along_with_another_s_report(url: str, group: str) -> None:
    clock, requests = [0.0], Requests()
    with process(url, group, "orders", "payments", "refunds", transport=requests, now=lambda: clock[0]) as queries:
        for query in queries:
            query.exchange(at(1_000))
        sent = len(requests.sent)
        for clock[0] in (40.0, 59.0):  # the interval is a minute
            queries[0].exchange(at(1_000 + int(clock[0])))
        clock[0] = 70.0
        for query in queries[1:]:
            query.exchange(at(1_000))
        assert requests.sent[sent:] == ["POST watermarks"] * 2


def test_reports_that_meet_go_in_one_request(url: str, group: str) -> None:
    requests, gate = Requests(), threading.Event()
    with process(url, group, "orders", "payments", "refunds", transport=requests) as queries:
        for query in queries:
            query.exchange(at(1_000))
        sent = len(requests.sent)
        requests.after = lambda _: gate.wait(30) and None
        plans = [threading.Thread(target=query.exchange, args=(at(2_000),)) for query in queries]
        for plan in plans:
            plan.start()
        wait_for(lambda: len(queries[0]._session.combined_reports._waiting) == 2)
        gate.set()
        for plan in plans:
            plan.join(30)
        assert requests.sent[sent:] == ["POST watermarks"] * 2
        assert {query.ceiling for query in queries} == {2_000 + MINUTE}


def test_a_query_that_is_fenced_stops_alone(url: str, group: str) -> None:
    with process(url, group, "orders", "payments") as (orders, payments), member(url, group, run="2") as successor:
        orders.exchange(at(1_000))
        payments.exchange(at(1_000))
        successor.exchange(at(3_000))
        with pytest.raises(Fenced, match=r"run 2 of query query of orders took over from source orders, run 1"):
            orders.exchange(at(2_000))
        assert payments.exchange(at(2_000)) == 2_000 + MINUTE


def test_a_query_that_ends_in_a_hurry_takes_no_other_one_s_report_along(url: str, group: str) -> None:
    requests, gate = Requests(), threading.Event()
    with process(url, group, "orders", "payments", transport=requests, timeout="20 seconds") as (orders, payments):
        for query in (orders, payments):
            query.exchange(at(1_000))
        requests.after = lambda request: (
            gate.wait(30) and None if b"7777" in request.content and not gate.is_set() else None
        )
        plan = threading.Thread(target=payments.exchange, args=(at(7_777),))
        plan.start()
        wait_for(lambda: requests.sent.count("POST watermarks") == 3)
        # only then a request with this watermark is answered
        threading.Timer(1.0, gate.set).start()
        orders.close(at(2_000))
        plan.join(20)
        assert payments.ceiling == 7_777 + MINUTE
        assert state(url, group) == "finished"


def test_lease_of_a_query_that_hangs_in_a_batch_ends_at_its_bound(url: str, group: str) -> None:
    create(url, group, lease_ms=3_000, update_interval_ms=50)
    with member(url, group, max_batch="1 second") as hangs, member(url, group, "payments") as goes_on:
        hangs.exchange(at(1_000))
        goes_on.exchange(at(1_000))
        wait_for(lambda: state(url, group) == "lost")
        assert state(url, group, "payments") == "active"
        assert hangs.exchange(at(9_000)) == 1_000 + MINUTE


# -- news --


@pytest.mark.parametrize("streams", [True, False])
def test_a_paused_query_goes_on_by_the_news_without_a_request_of_its_own(url: str, group: str, streams: bool) -> None:
    requests = Requests(streams=streams)
    # A clock that stands, so that no report falls due, and a stream that is waited for however busy
    # the machine is.
    with (
        member(url, group, transport=requests, now=lambda: 0.0, timeout="1 minute") as orders,
        member(url, group, "payments") as payments,
    ):
        payments.exchange(at(1_000))
        assert orders.exchange(at(500_000)) == 1_000 + MINUTE
        sent = len(requests.sent)
        payments.exchange(at(400_000))
        assert orders.wait_for_change(60_000)
        assert orders.exchange(at(500_000)) == 400_000 + MINUTE
        assert len(requests.sent) == sent
        assert ("alignment" in requests.listened) is not streams, "long polls, and only where no stream comes through"


def test_a_ceiling_that_falls_between_two_plans_counts(url: str, group: str) -> None:
    with member(url, group) as orders, member(url, group, "late") as late:
        assert orders.exchange(at(500_000)) == 500_000 + MINUTE
        late.exchange(at(1_000))
        wait_for(lambda: orders.has_news)
        assert orders.exchange(at(500_000)) == 1_000 + MINUTE


def test_answer_overtaken_by_news_does_not_bring_back_the_old_ceiling(url: str, group: str) -> None:
    requests = Requests()
    with member(url, group, transport=requests) as orders, member(url, group, "payments") as payments:
        payments.exchange(at(900_000))
        orders.exchange(at(500_000))

        def overtake(_: httpx.Request) -> None:
            payments.exchange(at(1_000))
            wait_for(lambda: orders.ceiling == 1_000 + MINUTE)

        requests.after = overtake
        assert orders.exchange(at(510_000)) == 1_000 + MINUTE


def test_news_after_the_lease_are_only_a_reason_to_report(url: str, group: str) -> None:
    clock, requests = [0.0], Requests()
    # A bound of 1 ms on batches, so that the keeper does not report.
    with (
        member(url, group, transport=requests, now=lambda: clock[0], max_batch=1) as orders,
        member(url, group, "payments") as payments,
    ):
        payments.exchange(at(1_000))
        told = orders.exchange(at(500_000))
        clock[0] = 61.0
        payments.exchange(at(400_000))
        assert orders.wait_for_change(10_000)
        assert orders.ceiling == told
        sent = requests.sent.count("POST watermarks")
        assert orders.exchange(at(500_000)) == 400_000 + MINUTE
        assert requests.sent.count("POST watermarks") == sent + 1


def test_news_of_a_group_that_was_made_anew_raise_no_ceiling(url: str, group: str) -> None:
    with member(url, group, max_batch=1) as orders, member(url, group, "stranger") as stranger:
        told = orders.exchange(at(1_000))
        httpx.delete(f"{url}/v1/groups/{group}", timeout=60).raise_for_status()
        create(url, group)
        stranger.exchange(at(9 * MINUTE))
        wait_for(lambda: orders.has_news)
        assert orders.ceiling == told
        assert orders.exchange(at(1_000)) == told
