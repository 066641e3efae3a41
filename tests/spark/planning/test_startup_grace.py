"""For how long a split that has shown nothing is watched at the start of a query."""

import pytest

from lockgate.plan.model import Head
from lockgate_spark.planning import startup_grace
from lockgate_spark.planning.startup_grace import LONGEST_WATCH_S, SHORT_WATCH_S, WATCH_S, watch_s
from support.live_world import HOUR, MINUTE, SECOND, START, World, nothing

DAY = 24 * HOUR
STAMPED = "delete\t-1\t-1\tLogAppendTime"  # a topic's configuration


def watched(newest: int | None, still_since: int = START, apart: int = 0) -> float:
    """The watch of a split with ten unread records `apart`, or an empty one."""
    first, last = (None, None) if newest is None else (Head(0, newest - 10 * apart), Head(10, newest))
    return watch_s(first, last, still_since, now=START, recent_ms=HOUR, far_ms=DAY)


@pytest.mark.parametrize("behind", [0, MINUTE, 3 * HOUR, 23 * HOUR])
def test_the_wait_is_long_however_far_behind_the_last_record_is(behind: int) -> None:
    assert watched(START - behind) == WATCH_S


@pytest.mark.parametrize(
    ("newest", "still_since"),
    [(None, START), (START - DAY - 1, START), (START - MINUTE, START - HOUR - 1)],
    ids=["empty", "so old that nobody waits", "nothing appended for an hour"],
)
def test_the_wait_is_short_where_nothing_was_appended_lately(newest: int | None, still_since: int) -> None:
    assert watched(newest, still_since) == SHORT_WATCH_S


@pytest.mark.parametrize(
    ("apart_s", "watched_s"), [(1, WATCH_S), (6, 9.0), (8, 12.0), (20, LONGEST_WATCH_S), (21, WATCH_S), (600, WATCH_S)]
)
def test_a_split_with_records_some_seconds_apart_is_watched_for_longer(apart_s: int, watched_s: float) -> None:
    assert watched(START - MINUTE, apart=apart_s * SECOND) == watched_s


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
        (START - 3 * HOUR, 8 * SECOND, STAMPED, SHORT_WATCH_S),
        (START - MINUTE, SECOND, STAMPED, WATCH_S),
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
