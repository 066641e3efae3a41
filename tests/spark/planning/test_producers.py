"""What a query learns of its splits' producers, and goes by: live feeds in virtual time, through a
session without Spark and Kafka.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from lockgate.plan.model import Limit
from lockgate_spark import Alignment
from lockgate_spark.planning import care
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.query_watermark import KAFKAS, Origin, QueryWatermark
from support.runs import RunInMemory, SourceInMemory
from support.sessions import TimeInMemory

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
START = 500_000 * HOUR
DELAY = 20 * SECOND

Feed = Callable[[int], Iterable[int]]
"""The event times (ms) that come at a wall clock, which goes on by a second each time."""


def lags(by: int) -> Feed:
    return lambda now: [now - by]


def nothing(now: int) -> list[int]:
    return []


def commits(every: int, by: int = 0) -> Feed:
    """Each so many ms what was made since, `by` ms later."""
    return lambda now: range(now - every - by, now - by, SECOND) if now % every == 0 else ()


class World:
    """A live query over a-0, on time, and a-1. The clock goes on by a second with each look at it,
    and records come with it. No test waits: the monotonic clock goes on by what is slept.
    """

    def __init__(
        self, feed: Feed, run: RunInMemory | None = None, before: dict[str, list[int]] | None = None, **alignment: Any
    ) -> None:
        self.now, self.feed = START, feed
        self.time = TimeInMemory()
        self.source = SourceInMemory(before or {"a-0": [], "a-1": []})
        self.source.jvm.window = 50
        self.run = run or RunInMemory()
        origin = Origin(True, KAFKAS, KAFKAS, 0)
        self.run.found = [QueryWatermark("timestamp", DELAY, (origin,))]
        self.highest, self.late = 0, {"a-0": 0, "a-1": 0}
        self.position = dict.fromkeys(self.source.records, 0)
        self.alignment = Alignment(**alignment)
        self.session = self._session()

    def _session(self) -> AlignedRun:
        made = AlignedRun(self.alignment, self.run, clock=self._clock, ticks=self.time.ticks, sleep=self.time.sleep)
        made.add(0, self.source)
        return made

    def _clock(self) -> float:
        self.now += SECOND
        self.source.records["a-0"].append(self.now)
        self.source.records["a-1"].extend(self.feed(self.now))
        return self.now / 1000

    def batch(self) -> None:
        """One batch, and what Spark drops of it."""
        end = self.session.latest_offset(0, self.position, None)
        read = {split: self.source.records[split][self.position[split] : at] for split, at in end.items()}
        watermark = self.highest - DELAY
        for split, times in read.items():
            self.late[split] += sum(time <= watermark for time in times)
            self.highest = max([self.highest, *times])
        self.position = end

    def play(self, seconds: int) -> "World":
        end = self.now + seconds * SECOND
        while self.now < end:
            self.batch()
        return self

    def restart(self) -> None:
        self.session.close()
        self.run.logged = {0: self.position}
        self.session = self._session()

    @property
    def behind_s(self) -> float:
        """How far behind the clock the first record of the on-time split is that was not read."""
        unread = self.source.records["a-0"][self.position["a-0"] :]
        return (self.now - unread[0]) / SECOND if unread else 0.0


@pytest.fixture(autouse=True)
def _short_care(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(care, "CARE_S", 1.0)
    monkeypatch.setattr(care, "SHORT_CARE_S", 0.3)


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


def test_a_silent_split_costs_no_second_with_any_delay_and_all_that_was_there_is_read_at_once() -> None:
    world = World(nothing, before={"a-0": [START - SECOND] * 10, "a-1": []})
    world.batch()
    assert world.position["a-0"] >= 10, "as processAllAvailable() wants it"
    for _ in range(5):
        world.batch()
        assert world.behind_s <= 4, "the clock goes on while a batch is made"
        assert world.session.view is not None
        assert world.session.view.limit is Limit.END


def test_under_available_now_all_that_was_there_is_read_though_a_split_is_silent() -> None:
    source = {"a-0": [START - SECOND] * 10, "a-1": [START - 40 * MINUTE]}
    world = World(nothing, run=RunInMemory(available_now=True), before=source)
    world.source.available_now(START)
    for _ in range(2):  # first the one that is behind
        world.batch()
    assert world.position == {"a-0": 10, "a-1": 1}


def test_under_available_now_a_producer_that_is_behind_shows_itself_before_anything_is_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ago = range(START - 10 * MINUTE, START, SECOND)
    source = {"a-0": list(ago), "a-1": [t - 30 * MINUTE for t in ago]}
    world = World(lags(30 * MINUTE), run=RunInMemory(available_now=True), before=source)
    world.source.available_now(START)
    world.batch()
    assert world.highest <= START - 30 * MINUTE + DELAY
    assert "a-1" in world.position
    assert world.position["a-1"] == 600
    world.batch()
    assert "left to the next run" in caplog.text


def test_a_producer_that_commits_every_minute_is_learned_by_its_first_commit_and_loses_nothing_after_it() -> None:
    world = World(commits(MINUTE)).play(180)
    lost = world.late["a-1"]
    assert lost <= 60
    world.play(300)
    assert world.late == {"a-0": 0, "a-1": lost}


def test_rows_further_behind_than_their_producer_ever_was_are_counted_and_learned_from(
    caplog: pytest.LogCaptureFixture,
) -> None:
    wakes = START + 60 * SECOND
    world = World(lambda now: [now - 10 * MINUTE + n for n in range(5)] if now == wakes else ()).play(90)
    assert world.late["a-1"] == 5
    assert world.session.view is not None
    assert world.session.view.rows_too_late == 5
    (told,) = [message for message in caplog.messages if "further than their producer had shown" in message]
    assert told.startswith("topic a, partition 1: 5 records came up to 9 min 5")
    assert world.play(900).behind_s == pytest.approx(10 * 60 * 1.25 - 20, abs=15)


def test_a_restart_goes_by_what_the_run_before_had_learned_and_waits_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wakes = START + 30 * SECOND
    world = World(lambda now: [now - 10 * MINUTE] if now == wakes else ()).play(900)
    world.restart()
    monkeypatch.setattr(care, "CARE_S", 3600.0)
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


def test_an_idle_timeout_that_is_set_is_a_promise_with_a_price_that_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    world = World(nothing, idle_timeout="1 minute").play(150)
    assert world.behind_s == pytest.approx(40, abs=6)
    assert world.session.view is not None
    assert world.session.view.behind_ms == pytest.approx(40_000, abs=6_000)
    assert world.session.view.behind.endswith(
        "behind the clock: a-1 has brought nothing in this run, its producer may be 1 min late"
    )
    assert any("idle_timeout is 1 min" in message and "40 s behind the clock" in message for message in caplog.messages)
    assert any(message.endswith("its producer may be 1 min late") for message in caplog.messages)


def test_a_lag_beyond_an_idle_timeout_that_is_set_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    World(commits(MINUTE, by=2 * MINUTE), idle_timeout="1 minute").play(300)
    (said,) = [message for message in caplog.messages if "idle_timeout is" in message and "can be late" in message]
    assert said.startswith("topic a, partition 1: a record came 2 min 5")
    assert "idle_timeout is 1 min:" in said


def test_records_appended_while_the_query_was_away_show_no_lag_of_the_producer() -> None:
    world = World(nothing, before={"a-0": [START - 5 * HOUR], "a-1": [START - 5 * HOUR]})
    world.play(10)
    assert world.session.view is not None
    assert [split.lag for split in world.session.view.splits if split.split == "a-1"] == [None]


# -- records out of order, of which there are few --


def sparse(now: int) -> list[int]:
    """A record in two seconds, half a minute behind the clock, and every fifth one older by ten
    seconds than those around it.
    """
    n = now // (2 * SECOND)
    return [] if now % (2 * SECOND) else [now - 30 * SECOND - (10_200 if n % 5 == 0 else 0)]


def test_nothing_is_lost_of_a_sparse_split_that_lags_and_is_out_of_order_though_nobody_said_so() -> None:
    world = World(sparse).play(200)
    assert world.late == {"a-0": 0, "a-1": 0}
    assert world.session.view is not None
    assert {split.split: split.disorder for split in world.session.view.splits}["a-1"] == pytest.approx(
        10_200, abs=2_000
    )


def test_care_with_few_records_costs_half_of_the_drift_behind_a_split_that_lags() -> None:
    def lags_now_and_then(now: int) -> list[int]:
        return [now - 2 * MINUTE] if now % (10 * SECOND) == 0 else []

    first, later = World(lags_now_and_then).play(300), World(lags_now_and_then, disorder=0).play(300)
    assert first.behind_s - later.behind_s == pytest.approx(DELAY / SECOND / 2, abs=8)
