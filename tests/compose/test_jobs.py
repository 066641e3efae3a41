"""The profile `jobs`: two Spark applications in one group, on two topics whose event times begin
more than two hours apart.
"""

import json
import time
from collections.abc import Iterator

import pytest

from compose.conftest import brought_up
from compose.looking import Looking
from compose.stack import Stack, fresh_clone
from lockgate_testbed.producer import FEEDS
from support.answers import wait_for

TOPICS = [feed.topic for feed in FEEDS]
MAX_DRIFT_MS = 300_000
# No batch spans more event time than max_drift, so that the joint ceiling is never above it; a
# watermark is that of the next record.
SPACING_MS = max(max(feed.every_ms) for feed in FEEDS)
CAUGHT_UP_WITHIN_S = 600
COUNTED_WITHIN_S = 120
COUNTED = (
    "import json, sqlite3; print(json.dumps(dict(sqlite3.connect('/data/counts.db').execute('SELECT * FROM counts'))))"
)


@pytest.fixture(scope="module")
def jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stack, Looking]]:
    """Up, and looked at since before there was a group."""
    stack = Stack(fresh_clone(tmp_path_factory.mktemp("jobs")), project="lockgate-test-jobs", profile="jobs")
    with Looking(stack.url, "shop").on() as looking, brought_up(stack, request):
        yield stack, looking


def counted(stack: Stack, topic: str) -> dict[str, int]:
    """What the job has counted: minute -> records."""
    found: dict[str, int] = json.loads(stack.compose("exec", "-T", f"{topic}-job", "python", "-c", COUNTED))
    return found


def produced(stack: Stack, topic: str) -> dict[str, int]:
    """What the topic holds, read record by record."""
    found: dict[str, int] = json.loads(
        stack.compose("run", "--rm", "-T", "--no-deps", "producer", "counts", "kafka:9092", topic)
    )
    return found


def await_now(looking: Looking) -> None:
    """Returns when both jobs have come to where the clock is now, but for as much as the last
    partition is late, and a batch.
    """
    now_ms = time.time_ns() // 1_000_000 - 60_000
    wait_for(lambda: looking.beyond(dict.fromkeys(TOPICS, now_ms)), CAUGHT_UP_WITHIN_S)


def test_a_job_that_is_killed_comes_back_and_each_record_is_counted_once(jobs: tuple[Stack, Looking]) -> None:
    stack, looking = jobs
    stack.kill(stack.containers("orders-job")[0])
    stack.up()
    await_now(looking)
    stack.compose("stop", "producer")
    try:
        for topic in TOPICS:
            all_of_them = produced(stack, topic)
            wait_for(
                lambda topic=topic, all_of_them=all_of_them: counted(stack, topic) == all_of_them, COUNTED_WITHIN_S
            )  # type: ignore[misc]
            assert sum(all_of_them.values()) > 40_000
    finally:
        stack.up()


def test_at_every_look_nobody_has_read_further_ahead_of_the_other_than_the_group_allows(
    jobs: tuple[Stack, Looking],
) -> None:
    _, looking = jobs
    await_now(looking)
    looks = [look for look in looking.looks if set(look) == set(TOPICS)]
    start = {topic: looking.first(topic) for topic in TOPICS}
    for topic in TOPICS:
        drifts = [look[topic].drift_ms or 0 for look in looks if look[topic].watermark > start[topic]]
        assert max(drifts) <= MAX_DRIFT_MS + SPACING_MS
    assert any(
        look["orders"].watermark > start["orders"] and look["payments"].watermark == start["payments"] for look in looks
    )
    assert looking.holders == set(TOPICS)  # each has been waited for


def test_describe_tells_of_both(jobs: tuple[Stack, Looking]) -> None:
    stack, looking = jobs
    await_now(looking)
    said = stack.compose("exec", "-T", "coordinator", "lockgate", "describe", "shop").splitlines()
    assert [line.split()[:2] for line in said if "/0 " in line and "active" in line] == [
        ["orders/0", "active"],
        ["payments/0", "active"],
    ]


@pytest.mark.parametrize("service", ["kafka", "producer", "orders-job", "payments-job"])
def test_a_container_of_the_profile_may_do_nothing_that_it_need_not(jobs: tuple[Stack, Looking], service: str) -> None:
    (container,) = jobs[0].containers(service)
    host = container["HostConfig"]
    assert container["Config"]["User"] not in ("", "0", "root")
    assert (host["ReadonlyRootfs"], host["Privileged"], host["CapAdd"], host["CapDrop"]) == (True, False, None, ["ALL"])
    assert (host["SecurityOpt"], host["PortBindings"]) == (["no-new-privileges:true"], {})
    assert container["State"]["Health"]["Status"] == "healthy"


def test_all_end_by_themselves_and_go_on_where_they_were(jobs: tuple[Stack, Looking]) -> None:
    stack, looking = jobs
    await_now(looking)
    before = {topic: looking.looks[-1][topic].watermark for topic in TOPICS}
    stack.compose("stop")
    ended = {
        container["Config"]["Labels"]["com.docker.compose.service"]: container["State"]["ExitCode"]
        for container in stack.containers()
    }
    # To Java, 143 is how one ends that was asked to by SIGTERM. Killed, all would have 137.
    assert ended == {**dict.fromkeys(ended, 0), "kafka": 143}
    stopped = len(looking.looks)
    stack.up()
    wait_for(lambda: looking.beyond(before), CAUGHT_UP_WITHIN_S)
    for topic in TOPICS:
        assert min(look[topic].watermark for look in looking.looks[stopped:] if topic in look) > before[topic] - 60_000
