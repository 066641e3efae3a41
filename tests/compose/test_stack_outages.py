"""What ends, and what then is still there: a coordinator, Redis, everything."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from compose.asking import Group, Reader, Reporting
from compose.stack import Stack
from support.answers import wait_for

Outage = Callable[[Stack], object]


@pytest.fixture
def group(stack: Stack, request: pytest.FixtureRequest) -> Group:
    """A group of the test's own."""
    return Group(stack.url, request.node.name.replace("[", ".").rstrip("]"))


def test_a_coordinator_that_is_killed_loses_nothing_and_holds_nobody_up_for_long(stack: Stack, group: Group) -> None:
    with Reporting(Reader(group, "a")).on() as reporting:
        wait_for(lambda: reporting.acknowledged > 50)
        stack.kill(stack.containers("coordinator")[0])
        before = reporting.acknowledged
        wait_for(lambda: reporting.acknowledged > before + 200)
    assert reporting.longest_s < 5
    answers = [group.alignment() for _ in range(4)]
    assert {answer.json()["group_watermark"] for answer in answers} == {reporting.acknowledged}
    assert len({answer.headers["X-Served-By"] for answer in answers}) == 1

    stack.up()
    wait_for(lambda: len({group.alignment().headers["X-Served-By"] for _ in range(4)}) == 2)
    assert group.alignment().json() == answers[0].json()


def test_polls_that_wait_at_a_coordinator_that_is_killed_are_answered_by_the_other(stack: Stack, group: Group) -> None:
    reader = Reader(group, "a")
    revision = reader.reports(0).json()["revision"]
    with ThreadPoolExecutor(4) as threads:
        polls = [threads.submit(group.alignment, after=revision, wait_ms=60_000) for _ in range(4)]
        # by then the others are waiting
        assert group.alignment(after=revision, wait_ms=500).status_code == 204
        stack.kill(stack.containers("coordinator")[1])
        told = reader.reports_at_last(1)
        answers = [poll.result(30) for poll in polls]
    assert [answer.json() for answer in answers] == [told] * 4
    stack.up()


@pytest.mark.parametrize(
    "outage",
    [lambda stack: stack.compose("stop", "redis"), lambda stack: stack.kill(stack.containers("redis")[0])],
    ids=["stopped", "killed"],
)
def test_while_redis_is_away_it_says_when_to_come_again_and_then_goes_on_with_all_it_had(
    stack: Stack, group: Group, outage: Outage
) -> None:
    a, b = Reader(group, "a"), Reader(group, "b")
    a.reports(100)
    before = b.reports(50).json()
    outage(stack)
    # the proxy has noticed
    wait_for(lambda: group.alignment().headers.get("X-Served-By", "").startswith("unready"))
    refused = a.reports(101)
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:lockgate:store-unavailable")
    assert int(refused.headers["Retry-After"]) >= 1
    assert [group.http.get(path).status_code for path in ("/livez", "/readyz")] == [200, 503]

    stack.compose("start", "redis")
    assert a.reports_at_last(101) == before
    assert b.reports_at_last(60)["group_watermark"] == 60


def test_all_end_within_5_seconds_by_themselves_and_have_everything_when_they_are_back(
    stack: Stack, group: Group
) -> None:
    told = Reader(group, "a").reports(5).json()
    with group.events() as lines:
        next(lines)
        stack.compose(
            "stop", "--timeout", "5"
        )  # whoever is not through by then is killed, and 137 is what it ends with
    ended = {container["Name"]: container["State"]["ExitCode"] for container in stack.containers()}
    assert ended == dict.fromkeys(ended, 0)

    stack.compose("down")
    stack.up()
    assert group.alignment().json() == told
