"""Readers of one source whose Redis is emptied, and has a clock that is behind: they go on."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from redis import Redis

from lockgate_testbed.coordinator import CoordinatorProcess
from lockgate_testbed.kafka import KafkaBroker
from lockgate_testbed.redis import RedisServer
from support.answers import wait_for
from support.children import doing_first
from support.leaping import AHEAD, IN_A_PROCESS
from support.services import Service, filled, make_group, positions_of, splits_of

pytestmark = [pytest.mark.kafka, pytest.mark.redis]

BEHIND_S = 90
RECORDS = 1_500
RULES = {"lease_ms": 3_000, "max_drift_ms": 10_000_000}


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator["Redis[bytes]"]:
    """Whose clock is ahead until it is emptied."""
    with Redis.from_url(redis_server.url) as client:
        client.flushall()
        client.set(AHEAD, BEHIND_S)
        yield client
        client.flushall()


def test_readers_keep_positions_over_a_redis_that_is_empty_and_behind(
    kafka: KafkaBroker, topic: str, redis: "Redis[bytes]", redis_server: RedisServer, tmp_path: Path
) -> None:
    filled(kafka, topic, [RECORDS] * 2)
    in_haste = Event()
    with CoordinatorProcess(redis_server.url, env=doing_first(tmp_path, IN_A_PROCESS)) as coordinator:
        make_group(coordinator.url, topic, **RULES)
        options = {"work": lambda record: in_haste.wait(0.02)}
        with (
            Service(kafka, topic, coordinator.url, topic, **options) as first,
            Service(kafka, topic, coordinator.url, topic, **options) as second,
        ):

            def until(fulfilled: Callable[[], bool]) -> None:
                wait_for(lambda: fulfilled() or first.ended or second.ended)
                assert (first.failed, second.failed) == (None, None)

            def known() -> dict[str, int]:
                return {id: at for id, at in positions_of(coordinator.url, topic).items() if isinstance(at, int) and at}

            until(lambda: len(known()) == 2)
            before = known()
            redis.flushall()
            make_group(coordinator.url, topic, **RULES)
            until(lambda: splits_of(coordinator.url, topic)["enumerator"].get("assigned") == 2)
            in_haste.set()
            until(lambda: {*first.seen, *second.seen} == {(p, at) for p in (0, 1) for at in range(RECORDS)})
    again = [record for record, times in Counter([*first.seen, *second.seen]).items() if times > 1]
    assert [(p, at) for p, at in again if at < before[f"{topic}-{p}"]] == []
