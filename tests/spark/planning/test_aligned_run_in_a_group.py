"""Sessions in a group, over a real coordinator: what they report, and what they read by what they
are told.
"""

from typing import Any

import pytest

from lockgate.plan.model import Limit
from lockgate.watermark import MAX
from lockgate_spark import Coordination, CoordinatorUnavailable, WaitedTooLong
from lockgate_spark.logs.requests import Offsets
from lockgate_spark.planning.aligned_run import AlignedRun
from support.answers import accepting_only
from support.members import MINUTE, at, create, inspect, member, membership, reported, state
from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, T0, asked_aside, live, minutes, session

IN_2099, IN_1970 = 4_070_908_800_000, 3_600_000
PATIENCE = "2 minutes"


def test_no_plan_is_made_above_the_group_s_ceiling(url: str, group: str) -> None:
    fast = session(SourceInMemory({"f-0": minutes(*range(60))}), membership=membership(url, group, "fast"))
    slow = session(SourceInMemory({"s-0": minutes(*range(60))}, budget=1), membership=membership(url, group, "slow"))
    slow.latest_offset(0, {"s-0": 10})
    assert fast.latest_offset(0, {"f-0": 10}) == {"f-0": 11}
    assert fast.view is not None
    assert (fast.view.limited_by, fast.view.target) == (Limit.GROUP, T0 + 11 * MINUTE - 1)
    assert {held.source for held in fast.view.blocked_by} == {"fast", "slow"}
    for each in (fast, slow):
        each.close()


def test_the_group_s_drift_is_the_query_s_own_from_the_first_plan_on(url: str, topic: str) -> None:
    create(url, topic, mode="observe")  # so that the query's own bound shows
    a = SourceInMemory({"a-0": live(180), "a-1": live(180, 179.5, 178, 1)})
    one = session(a, membership=membership(url, topic), idle_timeout="4 hours")
    assert one.latest_offset(0, {"a-0": 0, "a-1": 0}) == {"a-0": 1, "a-1": 2}
    assert one.latest_offset(0, {"a-0": 1, "a-1": 2}) == {"a-0": 1, "a-1": 2}
    one.close()


def test_query_that_proceeds_in_an_outage_keeps_its_splits_aligned() -> None:
    a = SourceInMemory({"a-0": minutes(*range(100)), "a-1": minutes(*range(0, 100, 10))}, budget=11).available_now(
        NOW_MS
    )
    with accepting_only() as url:
        proceeds = membership(url, "g", on_outage="proceed", hold_for=1, timeout="100 milliseconds")
        one = session(a, run=RunInMemory(available_now=True), membership=proceeds, max_wait=PATIENCE)
        positions = {"a-0": 0, "a-1": 0}
        for ends in ({"a-0": 10, "a-1": 1}, {"a-0": 20, "a-1": 2}):
            assert (positions := one.latest_offset(0, positions)) == ends
            assert one.view is not None
            assert (one.view.coordinator, one.view.limited_by) == (Coordination.PROCEEDING, Limit.BUDGET)
            assert one.planner.observer.progress(0)["alignmentCoordinator"] == "proceeding"
        one.close()


def test_without_a_coordinator_a_query_that_is_to_fail_ends_with_an_error() -> None:
    a = SourceInMemory({"a-0": minutes(0)}).available_now(NOW_MS)
    with accepting_only() as url:
        fails = membership(url, "g", on_outage="fail", hold_for=1, timeout="100 milliseconds")
        one = session(a, run=RunInMemory(available_now=True), membership=fails, max_wait=PATIENCE)
        with pytest.raises(CoordinatorUnavailable, match="on_outage='fail'"):
            one.latest_offset(0, {"a-0": 0})
        one.close()


@pytest.mark.parametrize(
    ("run", "park", "after"),
    [
        (RunInMemory(), None, "finished"),
        (RunInMemory(failure=True), None, "active"),
        (RunInMemory(available_now=True), None, "finished"),
        (RunInMemory(available_now=True), "1 hour", "parked"),
        (RunInMemory(available_now=True, failure=True), "1 hour", "active"),
        (RunInMemory(), "1 hour", "finished"),
    ],
)
def test_end_of_run_finishes_or_parks_readers_unless_it_failed(
    url: str, group: str, run: RunInMemory, park: str | None, after: str
) -> None:
    a, b = SourceInMemory({"a-0": minutes(0)}), SourceInMemory({"b-0": minutes(0)})
    one = session(a, b, run=run, membership=membership(url, group, park=park))
    one.latest_offset(0, {"a-0": 0})
    one.close()
    assert not one.closed, "one of its sources still reads"
    assert state(url, group) == "active"
    one.close()
    assert one.closed
    assert state(url, group) == after
    assert a.jvm.closed
    assert b.jvm.closed


def test_scheduled_query_waits_for_the_next_run_of_a_parked_one(url: str, group: str) -> None:
    a, b = SourceInMemory({"a-0": live(100)}), SourceInMemory({"b-0": live(100, 95, 60)})

    def run(name: str, source: SourceInMemory, **more: Any) -> AlignedRun:
        parks = membership(url, group, name, park="1 hour")
        source.available_now(NOW_MS)
        return session(source, run=RunInMemory(available_now=True), membership=parks, idle_timeout="3 hours", **more)

    first = run("a", a)
    assert [first.latest_offset(0, {"a-0": n}) for n in (0, 1)] == [{"a-0": 1}] * 2
    first.close()
    a.records["a-0"] += live(60)
    alone = run("b", b, max_wait="300 milliseconds")
    assert alone.latest_offset(0, {"b-0": 0}) == {"b-0": 1}
    with pytest.raises(WaitedTooLong, match="blocked by a/0"):
        alone.latest_offset(0, {"b-0": 1})
    alone.close()
    again, beside = run("a", a, max_wait=PATIENCE), run("b", b, max_wait=PATIENCE)
    waiting, answers = asked_aside(again, {"a-0": 1})
    assert [beside.latest_offset(0, {"b-0": n}) for n in (1, 2)] == [{"b-0": 2}, {"b-0": 3}]
    waiting.join()
    assert answers == [{"a-0": 2}]
    for each in (again, beside):
        each.close()


def test_a_broker_that_is_gone_at_the_end_leaves_no_lease_behind(url: str, topic: str) -> None:
    create(url, topic, catch_up="joint")
    a, ours = SourceInMemory({"a-0": minutes(*range(6))}, budget=2), membership(url, topic)
    one = session(a, membership=ours)
    for position in (0, 2):
        one.latest_offset(0, {"a-0": position})

    def gone() -> bytes:
        raise ConnectionError("when it is asked how far the last batch would get")

    a.jvm.highest = gone  # type: ignore[method-assign]
    with pytest.raises(ConnectionError):
        one.latest_offset(0, {"a-0": 4})
    assert ours.is_due(0)
    one.close()
    assert not ours.is_due(0), "its lease is not kept any longer"
    assert state(url, topic) == "active", "and runs out"
    assert a.jvm.closed


def test_an_error_while_totals_are_logged_leaves_no_lease_behind(
    url: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = SourceInMemory({"a-0": minutes(0)}).available_now(NOW_MS)
    one = session(a, run=RunInMemory(available_now=True), membership=membership(url, topic))
    one.latest_offset(0, {"a-0": 0})
    monkeypatch.setattr("lockgate_spark.telemetry.waits.Waits.close", lambda self: 1 / 0)
    one.end()
    assert state(url, topic) in ("parked", "finished")


@pytest.mark.parametrize("catch_up", ["strict", "joint"])
def test_query_that_has_read_all_reports_by_its_last_record(url: str, topic: str, catch_up: str) -> None:
    create(url, topic, max_drift_ms=10 * MINUTE, catch_up=catch_up)
    a = session(SourceInMemory({"a-0": live(180)}), membership=membership(url, topic, "a"), idle_timeout="4 hours")
    b = session(SourceInMemory({"b-0": live(175)}), membership=membership(url, topic, "b"), idle_timeout="4 hours")
    for position in (0, 1):
        a.latest_offset(0, {"a-0": position})
    assert reported(url, topic, "a") == live(180)[0] - 1
    assert b.latest_offset(0, {"b-0": 0}) == {"b-0": 1}
    for each in (a, b):
        each.close()


def test_reports_tell_where_each_split_stands(url: str, group: str) -> None:
    one = session(
        SourceInMemory({"a-0": minutes(0, 1, 2, 9), "a-1": []}),
        membership=membership(url, group),
        idle_timeout="1 minute",
    )
    one.latest_offset(0, {"a-0": 1, "a-1": 0})
    splits = inspect(url, group)["readers"][0]["splits"]
    assert (splits["a-0"]["position"], splits["a-0"]["end"]) == (1, 4)
    assert splits["a-0"]["watermark"] == T0 + MINUTE - 1
    assert splits["a-1"]["watermark"] == NOW_MS - MINUTE - 1
    assert splits["a-1"]["watermark"] < MAX
    one.close()


def test_a_query_offers_the_others_to_go_as_far_as_its_budget_gets(url: str, topic: str) -> None:
    create(url, topic, catch_up="joint")
    one = session(SourceInMemory({"a-0": minutes(*range(100))}, budget=10), membership=membership(url, topic))
    with member(url, topic, "peer") as peer:
        peer.exchange(at(T0 - 1, reach=T0 + 1000 * MINUTE))
        assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 10}
        assert peer.exchange(at(T0, reach=T0 + 1000 * MINUTE)) == T0 + 10 * MINUTE - 1, "just below the eleventh record"
        one.close()


@pytest.mark.parametrize(
    "records",
    [
        [live(180)[0], IN_2099, *live(160)],
        [IN_2099, *live(180, 160)],
        [*live(180, 160), IN_2099],
        [live(180)[0], IN_1970, *live(160)],
        [IN_1970, *live(180, 160)],
        [*live(180, 160), IN_1970],
    ],
)
def test_a_record_stamped_2099_or_1970_is_in_no_report(url: str, topic: str, records: list[int]) -> None:
    create(url, topic, catch_up="joint")
    first, last = live(180, 160)
    ours = membership(url, topic)
    one = session(SourceInMemory({"a-0": records}), membership=ours, idle_timeout="4 hours", past_bound="1 day")
    with member(url, topic, "peer") as peer:
        peer.exchange(at(first, reach=MAX - 1))
        assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 3}
        assert reported(url, topic) == first - 1
        assert peer.exchange(at(first + 1, reach=MAX - 1)) == last, "as far as it gets"
        assert one.latest_offset(0, {"a-0": 3}) == {"a-0": 3}
        assert reported(url, topic) == last - 1
        assert peer.exchange(at(last, reach=MAX - 1)) == last - 1 + MINUTE
        one.close()


def test_new_split_with_older_records_lowers_report_and_ceiling(url: str, group: str) -> None:
    a = SourceInMemory({"a-0": minutes(*range(10))})
    one = session(a, membership=membership(url, group))
    with member(url, group, "peer") as peer:
        assert one.latest_offset(0, {"a-0": 5}) == {"a-0": 6}
        assert peer.exchange(at(T0 + 60 * MINUTE)) == T0 + 6 * MINUTE - 1
        a.records["a-1"] = minutes(2)
        assert one.latest_offset(0, {"a-0": 6}) == {"a-0": 6, "a-1": 1}
        assert reported(url, group) == T0 + 2 * MINUTE - 1
        assert peer.exchange(at(T0 + 61 * MINUTE)) == T0 + 3 * MINUTE - 1
        one.close()


def test_a_query_whose_splits_are_all_gone_holds_nobody_any_longer(url: str, group: str) -> None:
    a = SourceInMemory({"a-0": minutes(*range(10))})
    one = session(a, membership=membership(url, group))
    with member(url, group, "peer") as peer:
        one.latest_offset(0, {"a-0": 5})
        assert peer.exchange(at(T0 + 60 * MINUTE)) == T0 + 6 * MINUTE - 1
        a.records.clear()
        assert one.latest_offset(0, {"a-0": 6}) == {}
        assert peer.exchange(at(T0 + 61 * MINUTE)) == T0 + 62 * MINUTE
        one.close()


def test_caught_up_query_blocks_no_other_after_a_restart_of_both(url: str, group: str) -> None:
    """Quix Streams' issue 1116, between two queries."""
    a, b = SourceInMemory({"a-0": live(180)}), SourceInMemory({"b-0": live(180, 150, 120, 90)})
    read: dict[str, Offsets] = {"a": {"a-0": 0}, "b": {"b-0": 0}}
    ends: dict[str, Offsets] = {"a": {"a-0": 1}, "b": {"b-0": 4}}
    for run in ("1", "2"):
        queries = {
            name: session(
                source,
                run=RunInMemory(failure=True),
                membership=membership(url, group, name, run=run),
                idle_timeout=MINUTE,
            )
            for name, source in (("a", a), ("b", b))
        }
        for _ in range(2 if run == "1" else 4):
            read |= {name: one.latest_offset(0, read[name]) for name, one in queries.items()}
        assert (read["a"], read["b"] == ends["b"]) == (ends["a"], run == "2")
        assert reported(url, group, "a") == NOW_MS - MINUTE - 1, "by the clock, and not by its last record"
        for one in queries.values():
            one.close()
