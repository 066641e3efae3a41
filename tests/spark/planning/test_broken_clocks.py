"""One producer with a broken clock beside others: these are read on, whatever it stamps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.live_world import HOUR, MINUTE, SECOND, START, Feed, World, lags, nothing

DAY = 24 * HOUR
BROKEN: dict[str, Feed] = {
    "seconds for milliseconds": lambda now: [now // 1000],
    "always 1970": lambda now: [1],
    "a clock that began in 2000": lambda now: [946_684_800_000 + now - START],
    "a day and an hour late": lags(25 * HOUR),
    "a month late": lags(30 * DAY),
    "five at once": lambda now: [now // 1000] * 5,
    "one in ten seconds": lambda now: [now // 1000] if now % (10 * SECOND) == 0 else [],
}


def far(world: World) -> set[str]:
    assert world.session.view is not None
    return {split.partition for split in world.session.view.partitions if split.far_behind}


@pytest.mark.parametrize("feed", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("begins", ["from the start", "later"])
@pytest.mark.parametrize("options", [{}, {"idle_timeout": "1 minute", "max_drift": "1 minute"}], ids=["", "promised"])
def test_a_broken_clock_holds_nobody(feed: Feed, begins: str, options: dict[str, str]) -> None:
    breaks = START if begins == "from the start" else START + 60 * SECOND
    world = World(lambda now: feed(now) if now >= breaks else [], **options).play(180)
    assert world.behind_s <= 5
    assert far(world) == {"a-1"}
    assert world.late["a-0"] == 0
    assert world.restart().play(30).behind_s <= 5
    assert far(world) == {"a-1"}


def test_the_log_names_the_split_and_what_to_set_and_the_rows_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    world = World(lambda now: [now // 1000]).play(180)
    (told,) = [message for message in caplog.messages if "The others no longer wait for it" in message]
    assert told.startswith("topic a, partition 1: ")
    assert "seconds" in told
    assert "past_bound" in told
    assert world.session.view is not None
    assert world.session.view.rows_too_late >= world.late["a-1"] > 100
    world.feed = lags(0)
    assert far(world.play(30)) == set(), "its clock is mended"


def test_query_that_begins_with_old_records_ignores_a_broken_clock() -> None:
    week = list(range(START - 7 * DAY, START, HOUR))
    world = World(lambda now: [now // 1000], before={"a-0": week, "a-1": [START // 1000]}).play(120)
    assert world.behind_s <= 5
    assert world.late["a-0"] == 0


def test_two_broken_clocks_and_a_silent_split_delay_no_other() -> None:
    world = World(lambda now: [now // 1000], before={"a-0": [], "a-1": [], "a-2": [START - 3 * DAY]})
    world.late["a-2"] = 0
    world.play(30).time.sleep(5.0)
    assert world.play(90).behind_s <= 5


@pytest.mark.parametrize("behind", [23 * HOUR, 3 * HOUR])
def test_a_producer_less_than_a_day_behind_is_waited_for(behind: int) -> None:
    world = World(lags(behind)).play(120)
    assert far(world) == set()
    assert world.late == {"a-0": 0, "a-1": 0}


def test_a_longer_max_lag_waits_for_a_producer_that_is_days_behind() -> None:
    world = World(lags(2 * DAY), max_lag="3 days").play(120)
    assert far(world) == set()
    assert world.late == {"a-0": 0, "a-1": 0}


@settings(max_examples=40, deadline=None)
@given(
    ago=st.integers(2, 400).map(lambda days: days * DAY),
    pace=st.sampled_from([1, 10, 1_000]),
    behind=st.integers(0, 15 * SECOND),
    stalls_s=st.integers(0, 50),
)
def test_a_job_that_fills_in_old_records_is_kept_level(ago: int, pace: int, behind: int, stalls_s: int) -> None:
    """Both splits get old records while the query runs, so many ms of event time in a ms. One of
    them stalls for a while.
    """

    def fills(behind: int, stalls_s: int) -> Feed:
        def feed(now: int) -> list[int]:
            done = now - START - max(0, min(now - START - MINUTE, stalls_s * SECOND))
            return [] if 0 <= now - START - MINUTE < stalls_s * SECOND else [START - ago - behind + done * pace]

        return feed

    world = World(fills(behind, stalls_s), other=fills(0, 0)).play(200)
    assert far(world) == set()
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.position["a-1"] > 30


def test_a_replay_of_old_records_is_kept_level() -> None:
    year = START - 365 * DAY
    before = {"a-0": list(range(year, year + 10 * DAY, HOUR)), "a-1": list(range(year, year + 2 * DAY, MINUTE))}
    world = World(nothing, before=before, other=nothing)
    for _ in range(5):
        world.batch()
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.position == {"a-0": 240, "a-1": 2_880}
    assert far(world) == set()
