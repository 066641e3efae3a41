"""The lag of each split's producer, learned and shown; the clock is an argument."""

from typing import Any

import pytest

from lockgate_spark import Alignment
from lockgate_spark.planning.session import Session
from support.answers import wait_for
from support.runs import RunInMemory, SourceInMemory

HOUR, MINUTE = 3_600_000, 60_000


class Live:
    """A query that reads whatever comes, at a wall clock set by hand (ms)."""

    def __init__(self, **alignment: Any) -> None:
        self.now = 1000 * HOUR
        self.source = SourceInMemory({"a-0": [], "a-1": []})
        self.session = Session(Alignment(**alignment), RunInMemory(), clock=lambda: self.now / 1000)
        self.session.add(0, self.source)
        self.position = {"a-0": 0, "a-1": 0}
        self.poll()

    def append(self, split: str, behind: int) -> None:
        """A record comes `behind` ms late, right after the last poll."""
        self.source.records[split].append(self.now - behind)
        self.now += 1

    def poll(self) -> None:
        """Until the plan is one of now: what was said a moment ago is good for a moment."""
        wait_for(lambda: self._polled())

    def _polled(self) -> bool:
        self.position = self.session.latest_offset(0, self.position, None)
        return self.session.view is not None and self.session.view.planned_at == self.now / 1000

    @property
    def lags(self) -> list[int | None]:
        assert self.session.view is not None
        return [split.lag for split in self.session.view.splits]


def test_how_far_behind_a_producer_was_seen_is_shown_and_never_exaggerated() -> None:
    live = Live()
    live.now += MINUTE
    live.append("a-0", behind=20_000)
    live.poll()
    # Seen to its end a minute before the record came: it may have come right then, and so was it 0 behind.
    assert live.lags == [0, None]
    live.now += 1000
    live.poll()
    live.append("a-0", behind=20_000)
    live.poll()
    assert live.lags == [20_000, None]
    live.append("a-0", behind=1_000)
    live.poll()
    assert live.lags == [20_000, None], "the most that was seen is kept"


def test_a_lag_beyond_idle_timeout_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    live = Live(idle_timeout="1 minute")
    for _ in range(3):
        live.append("a-1", behind=3 * MINUTE)
        live.poll()
        live.now += 1000
        live.poll()
    said = [record.getMessage() for record in caplog.records if "idle_timeout" in record.getMessage()]
    assert len(said) == 1
    assert "topic a, partition 1: a record came 3 minutes behind the clock, and idle_timeout is 1 minute" in said[0]


def test_a_backlog_says_nothing_of_a_producer() -> None:
    live = Live()
    for behind in (5 * HOUR, 4 * HOUR):
        live.append("a-0", behind)
    fresh = Session(Alignment(), RunInMemory(), clock=lambda: live.now / 1000)
    fresh.add(0, live.source)
    fresh.latest_offset(0, {"a-0": 0, "a-1": 0}, None)
    assert fresh.view is not None
    assert [split.lag for split in fresh.view.splits] == [None, None]
