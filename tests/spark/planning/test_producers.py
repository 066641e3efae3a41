"""What a query learns of its splits' producers, and goes by: live feeds in virtual time, through a
session without Spark and Kafka.
"""

import logging

import pytest

from lockgate.plan.model import Limit
from lockgate_spark.planning import startup_grace
from support.live_world import DELAY, HOUR, MINUTE, SECOND, START, Feed, World, commits, lags, nothing
from support.runs import RunInMemory


@pytest.fixture(autouse=True)
def _short_care(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup_grace, "WATCH_S", 1.0)
    monkeypatch.setattr(startup_grace, "SHORT_WATCH_S", 0.3)


@pytest.mark.parametrize("by", [30 * SECOND, 30 * MINUTE, 3 * HOUR])
def test_nothing_of_an_active_producer_is_lost_however_far_behind_it_is(by: int) -> None:
    world = World(lags(by)).play(120)
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.position["a-1"] > 100
    if by == 30 * SECOND:
        assert world.play(60).behind_s == pytest.approx((by - DELAY) / SECOND, abs=8)


def test_nothing_is_lost_of_one_that_was_at_it_before_the_query_started() -> None:
    ago = range(START - 10 * MINUTE, START, SECOND)
    world = World(lags(30 * MINUTE), before={"a-0": list(ago), "a-1": [t - 30 * MINUTE for t in ago]})
    assert world.play(60).late == {"a-0": 0, "a-1": 0}


def test_silent_split_delays_no_read_with_any_watermark_delay() -> None:
    world = World(nothing, before={"a-0": [START - SECOND] * 10, "a-1": []})
    world.batch()
    assert world.position["a-0"] >= 10, "as processAllAvailable() wants it"
    for _ in range(5):
        world.batch()
        assert world.behind_s <= 4, "the clock goes on while a batch is made"
        assert world.session.view is not None
        assert world.session.view.limited_by is Limit.END


def test_available_now_reads_all_although_a_split_is_silent() -> None:
    source = {"a-0": [START - SECOND] * 10, "a-1": [START - 40 * MINUTE]}
    world = World(nothing, run=RunInMemory(available_now=True), before=source)
    world.source.available_now(START)
    for _ in range(2):  # first the one that is behind
        world.batch()
    assert world.position == {"a-0": 10, "a-1": 1}


def test_available_now_learns_a_late_producer_before_it_reads() -> None:
    ago = range(START - 10 * MINUTE, START, SECOND)
    source = {"a-0": list(ago), "a-1": [t - 30 * MINUTE for t in ago]}
    world = World(lags(30 * MINUTE), run=RunInMemory(available_now=True), before=source)
    world.source.available_now(START)
    world.batch()
    assert world.highest <= START - 30 * MINUTE + DELAY
    assert "a-1" in world.position
    assert world.position["a-1"] == 600
    world.batch()
    assert "are left for the next run: a-1 has" in world.session.planner.left


def test_producer_that_commits_every_minute_is_learned_by_one_commit() -> None:
    world = World(commits(MINUTE)).play(180)
    lost = world.late["a-1"]
    assert lost <= 60
    world.play(300)
    assert world.late == {"a-0": 0, "a-1": lost}


def test_rows_later_than_their_producer_ever_was_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wakes = START + 60 * SECOND
    world = World(lambda now: [now - 10 * MINUTE + n for n in range(5)] if now == wakes else ()).play(90)
    assert world.late["a-1"] == 5
    assert world.session.view is not None
    assert world.session.view.rows_too_late == 5
    (told,) = [message for message in caplog.messages if "the query had waited only 19.9 s" in message]
    assert told.startswith("topic a, partition 1: 5 records so far arrived up to 9 min 5")
    assert world.play(900).behind_s == pytest.approx(10 * 60 * 1.25 - 20, abs=15)


@pytest.mark.parametrize(
    "feed",
    [
        lambda now: [now - 25 * SECOND] if now > START + 60 * SECOND else [],
        lambda now: [now - 5 * MINUTE, now - 5 * MINUTE + 1] if now > START + 60 * SECOND else [],
        lambda now: [now - max(0, (now - START) // 3 - 20 * SECOND)],
        lambda now: [now // 1000] if now > START + 60 * SECOND else [now],
        commits(MINUTE, by=30 * SECOND),
    ],
    ids=["wakes late", "two at once", "falls behind", "seconds for milliseconds", "commits"],
)
@pytest.mark.parametrize("idle_timeout", [None, "21 seconds"])
def test_every_row_that_came_too_late_is_counted_once(
    feed: Feed, idle_timeout: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(feed, idle_timeout=idle_timeout, max_out_of_orderness=0).play(400)
    assert world.session.view is not None
    assert world.session.view.rows_too_late == pytest.approx(world.late["a-1"], abs=3)
    assert world.late["a-0"] == 0
    world.session.close()
    told = [message for message in caplog.messages if "records so far arrived up to" in message]
    assert len(told) <= 10
    if told:
        assert f" {world.session.view.rows_too_late:,} records so far" in told[-1]


@pytest.mark.parametrize("away", [0, 5 * SECOND, 4 * HOUR])
@pytest.mark.parametrize("wakes", [START + 60 * SECOND, START + 99 * SECOND])
def test_late_rows_are_counted_on_after_a_restart(wakes: int, away: int, caplog: pytest.LogCaptureFixture) -> None:
    comes_until = START + 130 * SECOND + min(away, 5 * SECOND)
    world = World(
        lambda now: [now - 3 * MINUTE, now - 3 * MINUTE + 500] if wakes <= now < comes_until else [],
        max_out_of_orderness=0,
    ).play(100)
    counted = world.session.view.rows_too_late if world.session.view is not None else 0
    world.restart(away).play(60)
    assert world.session.view is not None
    assert world.late["a-1"] > counted
    assert counted + world.session.view.rows_too_late == pytest.approx(world.late["a-1"], abs=3)
    if world.session.view.rows_too_late:
        assert "but an earlier run had waited less" in caplog.text
    assert world.late["a-0"] == 0


def test_rows_in_time_after_a_restart_are_not_counted_as_late() -> None:
    world = World(lags(30 * SECOND)).play(100).restart(5 * SECOND).play(60)
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.session.view is not None
    assert world.session.view.rows_too_late == 0


def test_restart_uses_kept_lags_and_does_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wakes = START + 30 * SECOND
    world = World(lambda now: [now - 10 * MINUTE] if now == wakes else ()).play(900)
    world.restart()
    monkeypatch.setattr(startup_grace, "WATCH_S", 3600.0)
    world.play(30)
    assert world.behind_s == pytest.approx(10 * 60 * 1.25 - 20, abs=15)


def test_lags_that_cannot_be_kept_are_warned_of_once_and_stop_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(number: int, text: str) -> None:
        raise OSError("disk full")

    run = RunInMemory()
    run.memory("lags-").write = fail  # type: ignore[method-assign]
    world = World(nothing, run=run).play(180)
    world.session.close()
    assert [message for message in caplog.messages if "cannot be kept" in message and "disk full" in message] == [
        caplog.messages[0]
    ]


def test_max_lag_bounds_how_long_a_silent_split_is_waited_for() -> None:
    wakes = START + 30 * SECOND
    world = World(lambda now: [now - 10 * MINUTE] if now == wakes else (), max_lag="2 minutes").play(300)
    assert world.behind_s <= 2 * 60 - 20 + 5


def test_idle_timeout_is_logged_with_its_cost(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    world = World(nothing, idle_timeout="1 minute").play(150)
    assert world.behind_s == pytest.approx(40, abs=6)
    assert world.session.view is not None
    assert world.session.view.behind_ms == pytest.approx(40_000, abs=6_000)
    assert world.session.view.behind.endswith(
        "behind the clock: a-1 has received no records in this run, its producer may be 1 min late"
    )
    assert any("idle_timeout is 1 min" in message and "40 s behind the clock" in message for message in caplog.messages)
    assert any(message.endswith("its producer may be 1 min late") for message in caplog.messages)


def test_a_lag_beyond_an_idle_timeout_that_is_set_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    World(commits(MINUTE, by=2 * MINUTE), idle_timeout="1 minute").play(300)
    (said,) = [message for message in caplog.messages if "idle_timeout is" in message and "can be dropped" in message]
    assert said.startswith("topic a, partition 1: a record arrived 2 min 5")
    assert "idle_timeout is 1 min, so" in said


def test_records_appended_between_two_runs_show_no_lag() -> None:
    world = World(nothing, before={"a-0": [START - 5 * HOUR], "a-1": [START - 5 * HOUR]})
    world.play(10)
    assert world.session.view is not None
    assert [split.lag for split in world.session.view.partitions if split.partition == "a-1"] == [None]


# -- records out of order, of which there are few --


def sparse(now: int) -> list[int]:
    """A record in two seconds, half a minute behind the clock, and every fifth one older by ten
    seconds than those around it.
    """
    n = now // (2 * SECOND)
    return [] if now % (2 * SECOND) else [now - 30 * SECOND - (10_200 if n % 5 == 0 else 0)]


def test_sparse_late_out_of_order_split_loses_nothing() -> None:
    world = World(sparse).play(200)
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.session.view is not None
    assert {split.partition: split.out_of_orderness for split in world.session.view.partitions}["a-1"] == pytest.approx(
        10_200, abs=2_000
    )


def test_few_compared_records_cost_half_of_the_drift_behind_a_late_split() -> None:
    def lags_now_and_then(now: int) -> list[int]:
        return [now - 2 * MINUTE] if now % (10 * SECOND) == 0 else []

    first, later = World(lags_now_and_then).play(300), World(lags_now_and_then, max_out_of_orderness=0).play(300)
    assert first.behind_s - later.behind_s == pytest.approx(DELAY / SECOND / 2, abs=8)
