"""A query whose driver's clock jumps or is wrong, and one whose producer's clock is: live feeds in
virtual time, through a session without Spark and Kafka.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate_spark import Alignment
from lockgate_spark.event_times import KAFKAS, Origin, QueryWatermark
from lockgate_spark.planning import startup_grace
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, SourceInMemory

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
START = 500_000 * HOUR
DELAY = MINUTE

Feed = Callable[[int], Iterable[int]]
"""The event times (ms) that come at a true time, which goes on by a second each time."""


def on_time(now: int) -> list[int]:
    return [now]


def late(by: int) -> Feed:
    return lambda now: [now - by]


def nothing(now: int) -> list[int]:
    return []


def until(end: int, feed: Feed) -> Feed:
    return lambda now: feed(now) if now < end else ()


class Live:
    """A live query over a split for each feed. The true time goes on by a second with each look at
    the clock and each wait; `wrong` says by how many ms the driver's wall clock is ahead of it.
    """

    def __init__(
        self,
        *feeds: Feed,
        wrong: Callable[[int], int] = lambda now: 0,
        run: RunInMemory | None = None,
        **alignment: Any,
    ) -> None:
        self.now, self.wrong = START, wrong
        self.feeds = {f"a-{n}": feed for n, feed in enumerate(feeds)}
        self.source = SourceInMemory({split: [] for split in self.feeds})
        self.source.jvm.window = 50
        self.run = run or RunInMemory()
        self.run.found = [QueryWatermark("timestamp", DELAY, (Origin(True, KAFKAS, KAFKAS, 0),))]
        self.session = AlignedRun(
            Alignment(**{"max_out_of_orderness": 0, **alignment}),
            self.run,
            clock=self._wall,
            ticks=lambda: (self.now - START) / 1000,
            sleep=lambda _: self._second(),
        )
        self.session.add(0, self.source)
        self.position = dict.fromkeys(self.feeds, 0)
        self.highest, self.late = 0, dict.fromkeys(self.feeds, 0)
        self.behind_ms: list[int] = []

    def _second(self) -> None:
        self.now += SECOND
        for split, feed in self.feeds.items():
            self.source.records[split].extend(feed(self.now))

    def _wall(self) -> float:
        self._second()
        return (self.now + self.wrong(self.now)) / 1000

    def play(self, seconds: int) -> "Live":
        end = self.now + seconds * SECOND
        while self.now < end:
            self._batch()
        return self

    def _batch(self) -> None:
        """One batch, and what Spark drops of it."""
        ends = self.session.latest_offset(0, self.position)
        read = {split: self.source.records[split][self.position[split] : end] for split, end in ends.items()}
        watermark = self.highest - DELAY
        for split, times in read.items():
            self.late[split] += sum(time <= watermark for time in times)
            self.highest = max([self.highest, *times])
        self.position = ends
        assert self.session.view is not None
        self.behind_ms.append(self.session.view.behind_ms)

    def unread_s(self, split: str) -> float:
        """How long ago the first record of a split came that was not read."""
        unread = self.source.records[split][self.position[split] :]
        return (self.now - unread[0]) / SECOND if unread else 0.0


@pytest.fixture(autouse=True)
def _short_care(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup_grace, "WATCH_S", 1.0)
    monkeypatch.setattr(startup_grace, "SHORT_WATCH_S", 0.3)


# -- the driver's clock jumps --


def jumps(*times: tuple[int, int, int]) -> Callable[[int], int]:
    """From and until so many seconds after the start, by so many ms."""
    return lambda now: sum(by for low, high, by in times if START + low * SECOND <= now < START + high * SECOND)


@pytest.mark.parametrize("by", [2 * HOUR, -2 * HOUR])
def test_a_clock_that_jumps_and_comes_back_loses_no_row_and_teaches_no_lag(
    by: int, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(on_time, late(2 * MINUTE), wrong=jumps((300, 305, by))).play(600)
    assert live.late == {"a-0": 0, "a-1": 0}
    assert live.session.view is not None
    assert max(split.lag or 0 for split in live.session.view.partitions) <= 2 * MINUTE + 10 * SECOND
    assert live.unread_s("a-0") <= 70
    assert sum("the driver's clock jumped by" in line for line in caplog.messages) == 1


def test_a_clock_that_jumps_writes_no_lag_beside_the_checkpoint_meanwhile() -> None:
    run = RunInMemory()
    live = Live(on_time, late(2 * MINUTE), wrong=jumps((140, 10_000, 2 * HOUR)), run=run).play(180)
    before = run.memory("lags-").read()
    assert any("a-1" in text for text in before)
    live.session.close()
    assert run.memory("lags-").read() == before


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(60, 500), st.integers(1, 400), st.integers(-3 * HOUR, 3 * HOUR)), max_size=3),
    st.sampled_from([0, 30 * SECOND, 2 * MINUTE]),
)
def test_no_jump_of_the_driver_s_clock_loses_a_row_or_stops_a_split(
    times: list[tuple[int, int, int]], lag: int
) -> None:
    live = Live(on_time, late(lag), wrong=jumps(*((low, low + lasts, by) for low, lasts, by in times))).play(700)
    assert live.late == {"a-0": 0, "a-1": 0}
    assert live.unread_s("a-0") <= max(0, lag - DELAY) / SECOND + 20


# -- the driver's clock is behind --


@pytest.mark.parametrize("silent", [nothing, until(START + 30 * SECOND, on_time)])
def test_a_clock_ten_minutes_behind_stops_no_live_split(silent: Feed, caplog: pytest.LogCaptureFixture) -> None:
    live = Live(on_time, silent, wrong=lambda now: -10 * MINUTE).play(200)
    assert live.unread_s("a-0") <= 10
    assert (max(live.behind_ms) >= 5 * SECOND) == (silent is nothing), "until the records are believed"
    (said,) = [line for line in caplog.messages if line.startswith("the driver's clock is about")]
    assert said.startswith(("the driver's clock is about 9 min 5", "the driver's clock is about 10 min"))
    assert live.late["a-0"] == 0


def test_a_producer_behind_by_less_than_the_driver_loses_no_row() -> None:
    live = Live(on_time, late(2 * MINUTE), nothing, wrong=lambda now: -10 * MINUTE).play(400)
    assert live.late == {"a-0": 0, "a-1": 0, "a-2": 0}
    assert live.unread_s("a-0") <= 130


# -- a producer's clock is ahead --


def test_split_stopped_by_its_record_is_named_with_its_lost_rows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    fast = START + 60 * SECOND
    live = Live(lambda now: [now + 5 * MINUTE] if now == fast else [now], on_time).play(180)
    assert live.behind_ms[-1] == pytest.approx(120 * SECOND, abs=10 * SECOND)
    assert live.session.view is not None
    assert "behind the clock: a-0 has stopped at offset 59, whose record is stamped 3 min" in live.session.view.behind
    assert live.session.view.rows_too_late == pytest.approx(60, abs=10)
    (said,) = [line for line in caplog.messages if "has stopped" in line and "future_bound" in line]
    assert said.startswith("topic a, partition 0 has stopped: its record at offset 59 is stamped")
    live.play(400)
    assert live.late["a-0"] > 150
    assert live.session.view.rows_too_late == pytest.approx(live.late["a-0"], abs=10)
    assert sum(line.startswith("topic a, partition 0 is read again after 4 min: ") for line in caplog.messages) == 1
    assert live.late["a-1"] == 0


def test_split_found_stopped_after_a_long_batch_is_behind_at_once() -> None:
    stray = START + 70 * SECOND
    live = Live(lambda now: [now + HOUR] if now == stray else [now], on_time).play(60)
    while live.now < stray + SECOND:
        live._second()
    live._batch()
    assert live.behind_ms[-1] >= 9 * SECOND


def test_a_producer_whose_clock_is_ahead_of_another_one_s_moves_no_plan() -> None:
    live = Live(lambda now: [now + 5 * MINUTE], until(START + 60 * SECOND, on_time)).play(240)
    assert live.unread_s("a-0") == pytest.approx(-60, abs=15), "it is read as the clock gets there"
    assert live.behind_ms[-1] > MINUTE
