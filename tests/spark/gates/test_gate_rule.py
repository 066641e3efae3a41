"""When a gate lets a batch go on, and what it reports meanwhile: over a real coordinator, without
Spark.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from lockgate import watermark
from lockgate.duration import spoken
from lockgate_http.group.membership import Membership
from lockgate_spark import Alignment, WaitedTooLong
from lockgate_spark.event_times import Span
from lockgate_spark.gates.gate import Gate
from support.members import MINUTE, at, create, member, reported, state
from support.runs import GaugesInMemory


@dataclass
class Run:
    """What Spark would say of the run."""

    available_now: bool = False
    interval_s: float = 0.0
    error: bool = False

    def ends_within(self, seconds: float) -> bool:
        return True

    def failed(self) -> bool:
        return self.error


@dataclass
class Clock:
    s: float = 0.0

    def __call__(self) -> float:
        return self.s


class StillHeldError(Exception):
    """Raised by the step of a test that does not wait."""


def no_wait() -> None:
    raise StillHeldError


@contextmanager
def gate(
    url: str, group: str, source: str = "gated", run: Run | None = None, now: Clock | None = None, **more: Any
) -> Iterator[Gate]:
    clock, shown = now or Clock(), more.pop("shown", None)
    theirs = {key: more.pop(key) for key in ("max_batch", "park") if key in more}
    with member(url, group, source, now=clock, **theirs) as membership:
        yield Gate(Alignment(**more), run or Run(), membership, clock, shown=shown)


def test_whoever_holds_the_group_finds_its_own_batch_below_the_ceiling(url: str, group: str) -> None:
    """A quiet hour, longer than the drift, before the next batches of two gates: the older one goes
    on.
    """
    with gate(url, group, "early") as early, gate(url, group, "late") as late:
        for each in (early, late):
            each.admit(Span(0, 0), no_wait)
            each.done()
        with pytest.raises(StillHeldError):
            late.admit(Span(70 * MINUTE, 70 * MINUTE), no_wait)
        early.admit(Span(60 * MINUTE, 65 * MINUTE), no_wait)


def test_a_batch_is_reported_by_its_lowest_event_time_and_then_as_done(url: str, group: str, peer: Membership) -> None:
    with gate(url, group) as own:
        own.admit(Span(20_000, 50_000), no_wait)
        assert reported(url, group, "gated") == 19_999
        own.done()
        assert reported(url, group, "gated") == 49_999


def test_watermark_leaves_room_for_out_of_order_records(url: str, group: str, peer: Membership) -> None:
    with gate(url, group, max_out_of_orderness="10 seconds") as own:
        own.admit(Span(50_000, 50_000), no_wait)
        assert reported(url, group, "gated") == 39_999
        own.done()
        assert reported(url, group, "gated") == 39_999
        own.admit(Span(41_000, 45_000), no_wait)
        assert reported(url, group, "gated") == 39_999


@pytest.mark.parametrize("seed", range(6))
def test_a_batch_below_the_report_by_more_than_the_drift_is_warned_of(
    url: str, group: str, caplog: pytest.LogCaptureFixture, seed: int
) -> None:
    """Batches of a second each, half a minute apart, and more out of order from seed to seed. The
    drift is a minute.
    """
    drawn = Random(seed)
    order = sorted(range(20), key=lambda n: n + drawn.uniform(0, 2 + 2 * seed))
    disorder, warned, top = drawn.randrange(59), 0, -1
    with gate(url, group, max_out_of_orderness=f"{disorder} seconds") as own:
        for number, half_minute in enumerate(order):
            lowest = half_minute * MINUTE // 2
            below = top - disorder * 1_000 - 1 - lowest
            caplog.clear()
            own.admit(Span(lowest, lowest + 1_000), no_wait, number)
            own.done()
            if top >= 0 and below > max(MINUTE, 2 * warned):
                warned = below
                [said] = caplog.messages
                assert said.startswith(f"batch {number} has event times from {watermark.instant(lowest)}")
                assert f"max_out_of_orderness to at least {spoken(top - lowest)}" in said
            else:
                assert not caplog.messages
            top = max(top, lowest + 1_000)


def test_while_it_holds_a_batch_it_offers_to_reach_its_end(url: str, topic: str) -> None:
    create(url, topic, catch_up="joint")
    with member(url, topic, "peer") as peer, gate(url, topic) as own:
        peer.exchange(at(0, reach=10 * MINUTE))
        own.admit(Span(1, 5 * MINUTE), no_wait)
        assert peer.exchange(at(1, reach=10 * MINUTE)) == 5 * MINUTE
        own.done()
        assert peer.exchange(at(5 * MINUTE, reach=10 * MINUTE)) == 6 * MINUTE - 1


def test_gate_without_batch_becomes_idle_until_the_next_one(url: str, group: str, peer: Membership) -> None:
    now = Clock()
    with gate(url, group, run=Run(interval_s=30), now=now, idle_timeout="1 minute") as own:
        own.admit(Span(0, 0), no_wait)
        now.s = 500.0
        own.tick()
        assert state(url, group, "gated") == "active"  # at work
        own.done()
        now.s += 89
        own.tick()
        assert reported(url, group, "gated") == -1
        now.s += 1
        own.tick()
        assert state(url, group, "gated") == "idle"
        own.admit(Span(30_000, 30_000), no_wait)
        assert (state(url, group, "gated"), reported(url, group, "gated")) == ("active", 29_999)


def test_a_batch_that_hangs_loses_its_lease_where_max_batch_says_so(url: str, group: str, peer: Membership) -> None:
    now = Clock()
    with gate(url, group, now=now, max_batch="1 minute") as own:
        own.admit(Span(0, 0), no_wait)
        now.s = 61
        own.tick()
        assert not own.membership.is_due(0)


def test_a_batch_that_waits_for_longer_than_max_batch_keeps_its_lease(url: str, group: str, peer: Membership) -> None:
    now = Clock()
    with gate(url, group, now=now, max_batch="1 minute") as own:

        def step() -> None:
            assert own.membership.is_due(0), "who is not will not be heard again"
            now.s += 50
            if now.s == 500:
                peer.exchange(at(MINUTE))

        own.admit(Span(2 * MINUTE, 2 * MINUTE), waiting(own, step))


def test_empty_batches_pass_and_do_not_keep_a_gate_from_being_idle(url: str, group: str, peer: Membership) -> None:
    now = Clock()
    with gate(url, group, now=now, idle_timeout="1 minute") as own:
        own.admit(Span(0, 0), no_wait)
        own.done()
        assert own.view is not None
        now.s = 60
        own.admit(None, no_wait)
        assert own.view is None
        own.done()
        own.tick()
        assert state(url, group, "gated") == "idle"


def test_under_available_now_it_waits_no_longer_than_max_wait(url: str, group: str, peer: Membership) -> None:
    now = Clock()

    def step() -> None:
        now.s += 1

    with (
        gate(url, group, run=Run(available_now=True), now=now, max_wait="3 seconds") as own,
        pytest.raises(WaitedTooLong, match=r"00:02:00.*has waited for 4 s.*blocked by peer/0"),
    ):
        own.admit(Span(2 * MINUTE, 2 * MINUTE), step)


@pytest.mark.parametrize(
    ("run", "park", "after"),
    [
        (Run(), None, "finished"),
        (Run(error=True), None, "active"),
        (Run(available_now=True), None, "finished"),
        (Run(available_now=True), "1 hour", "parked"),
        (Run(available_now=True, error=True), "1 hour", "active"),
        (Run(), "1 hour", "finished"),
    ],
)
def test_end_of_run_finishes_or_parks_and_failure_keeps_the_lease(
    url: str, group: str, peer: Membership, run: Run, park: str | None, after: str
) -> None:
    with gate(url, group, run=run, park=park) as own:
        own.admit(Span(0, 0), no_wait)
        own.done()
        own.watch()
        assert own.closed
        assert state(url, group, "gated") == after


def test_a_wait_is_told_of_once_and_its_end_once(
    url: str, group: str, peer: Membership, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lockgate")
    now = Clock()

    def step() -> None:
        now.s += 1
        if now.s == 10:
            peer.exchange(at(MINUTE))

    with gate(url, group, now=now) as own:
        own.admit(Span(2 * MINUTE, 3 * MINUTE), waiting(own, step))
    assert [line for line in caplog.messages if "gated" in line] == [
        f"gated/0 waits for its group {group}: blocked by peer/0 at 1970-01-01T00:00:00.000Z, 2 min below the next "
        "record here. Nothing above the group's read limit, 1970-01-01T00:01:00.000Z, is read meanwhile",
        f"gated/0 waited 10 s for its group {group}, and reads on to 1970-01-01T00:03:00.000Z",
    ]


def waiting(own: Gate, step: Callable[[], None]) -> Callable[[], None]:
    """A step after which the news of the group has arrived."""

    def stepped() -> None:
        step()
        own.membership.invalidate()  # as news on the stream would make it

    return stepped


def test_its_gauges_say_for_how_long_a_batch_is_held_and_when_it_goes_on(
    url: str, group: str, peer: Membership
) -> None:
    now, shown = Clock(), GaugesInMemory()
    with gate(url, group, now=now, shown=shown) as own:

        def step() -> None:
            now.s += 3.0
            if now.s >= 6.0:
                peer.exchange(at(5 * MINUTE))

        own.admit(Span(5 * MINUTE, 6 * MINUTE), step)
        told = [(values["blockedByGroup"], values["pausedMs"]) for values in shown.values]
        *held, last = told  # how many there are hangs on when the news come
        assert held == [(1, 3_000 * n) for n in range(len(held))]
        assert len(held) > 1
        assert last == (0, 0)
        assert [shown.values[0]["readLimitMs"], shown.values[0]["groupWatermarkMs"], shown.values[-1]["targetMs"]] == [
            MINUTE,
            0,
            6 * MINUTE,
        ]
        own.close(failed=False)
    assert shown.closed == 1
