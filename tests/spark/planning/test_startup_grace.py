"""For how long a split that has shown nothing is watched at the start of a query."""

from dataclasses import replace

import pytest

from lockgate_spark.planning import startup_grace
from lockgate_spark.planning.startup_grace import LONGEST_WATCH_S, SHORT_WATCH_S, WATCH_S, Traces
from support.live_world import HOUR, MINUTE, SECOND, START, World, nothing

DAY = 24 * HOUR
LATELY = Traces(newest=START - MINUTE, still_since=START)


@pytest.mark.parametrize("behind", [0, MINUTE, 3 * HOUR, 23 * HOUR])
def test_the_wait_is_long_however_far_behind_the_last_record_is(behind: int) -> None:
    assert replace(LATELY, newest=START - behind).watch_s(START, HOUR, DAY) == WATCH_S


@pytest.mark.parametrize(
    "silent",
    [
        replace(LATELY, newest=None),
        replace(LATELY, newest=START - DAY - 1),
        replace(LATELY, still_since=START - HOUR - 1),
        replace(LATELY, stamped_at=START - HOUR - 1),
    ],
    ids=["empty", "so old that nobody waits", "the end has not moved for an hour", "stamped by Kafka an hour ago"],
)
def test_the_wait_is_short_where_nothing_was_appended_lately(silent: Traces) -> None:
    assert silent.watch_s(START, HOUR, DAY) == SHORT_WATCH_S


def test_recent_kafka_stamp_is_waited_for_with_any_event_time() -> None:
    assert replace(LATELY, newest=START - 20 * HOUR, stamped_at=START - MINUTE).watch_s(START, HOUR, DAY) == WATCH_S


@pytest.mark.parametrize(
    ("apart_s", "watched_s"), [(1, WATCH_S), (6, 9.0), (8, 12.0), (20, LONGEST_WATCH_S), (21, WATCH_S), (600, WATCH_S)]
)
def test_a_split_with_records_some_seconds_apart_is_watched_for_longer(apart_s: int, watched_s: float) -> None:
    assert replace(LATELY, apart_ms=apart_s * SECOND).watch_s(START, HOUR, DAY) == watched_s


# -- in a run: how long its first plan sleeps --


def slept_s(newest: int, apart: int, config: str = "") -> float:
    log = list(range(newest - 20 * apart, newest + 1, apart))
    world = World(nothing, before={"a-0": [START - MINUTE], "a-1": log})
    world.source.jvm.config = config
    world.position["a-1"] = 0
    began = world.time.now
    for _ in range(3):
        world.batch()
    assert world.position["a-0"] > 0
    return world.time.now - began


@pytest.fixture(autouse=True)
def _true_care(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup_grace, "WATCH_S", WATCH_S)


@pytest.mark.parametrize(
    ("newest", "apart", "config", "seconds"),
    [
        (START - 3 * HOUR, SECOND, "", WATCH_S),
        (START - 3 * HOUR, 8 * SECOND, "", 12.0),
        (START - 3 * HOUR, 8 * SECOND, "LogAppendTime", SHORT_WATCH_S),
        (START - MINUTE, SECOND, "LogAppendTime", WATCH_S),
        (START - 2 * DAY, SECOND, "", SHORT_WATCH_S),
    ],
)
def test_a_first_plan_waits_by_what_the_log_tells(newest: int, apart: int, config: str, seconds: float) -> None:
    assert slept_s(newest, apart, config) == pytest.approx(seconds, abs=0.25)


def test_producer_three_hours_behind_loses_nothing_at_the_first_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the clock goes on by ten seconds with each one that is waited: a record in 40 s."""
    monkeypatch.setattr(startup_grace, "WATCH_S", 1.0)
    monkeypatch.setattr(startup_grace, "LONGEST_WATCH_S", 60.0)
    ago = range(START - 4 * HOUR, START, 40 * SECOND)
    before = {"a-0": list(ago), "a-1": [at for at in ago if at < START - 3 * HOUR]}
    world = World(lambda now: [now - 3 * HOUR] if now % (40 * SECOND) == 0 else [], before=before)
    assert world.play(600).late == {"a-0": 0, "a-1": 0}
