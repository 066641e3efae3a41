"""The planning of one query run, with the JVM alone replaced: logs are lists, and the run's facts
are set by hand.
"""

import pytest

from lockgate.plan.model import Limit
from lockgate_spark import Alignment, WaitedTooLong
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.planning.empty_plans import STEP_S
from support.members import MINUTE, create, membership
from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, TimeInMemory, asked_aside, live, minutes, session

# -- one plan for all sources --


def test_one_round_stops_all_sources_at_one_event_time() -> None:
    a, b = (
        SourceInMemory({"a-0": minutes(*range(100))}, budget=10),
        SourceInMemory({"b-0": minutes(*range(0, 100, 10))}, budget=10),
    )
    one = session(a, b)
    assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 10}
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 1}


def test_follower_is_answered_from_the_plan_of_the_leader() -> None:
    a, b = SourceInMemory({"a-0": minutes(0, 1)}), SourceInMemory({"b-0": minutes(0, 1)})
    one = session(a, b)
    one.latest_offset(0, {"a-0": 0})
    b.records["b-0"] += minutes(2, 3)
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 2}
    assert one.latest_offset(1, {"b-0": 2}) == {"b-0": 2}, "there is no plan for it before the leader is asked again"
    one.latest_offset(0, {"a-0": 2})
    assert one.latest_offset(1, {"b-0": 2}) == {"b-0": 4}
    assert one.view is not None
    assert [split.position for split in one.view.partitions] == [2, 2], (
        "the plan began where the follower was last told to end"
    )


def test_the_source_that_is_asked_first_leads_whatever_its_index() -> None:
    a, b = SourceInMemory({"a-0": minutes(0, 1)}), SourceInMemory({"b-0": minutes(0, 1)})
    one = session(a, b)
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 2}
    assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 2}
    b.records["b-0"] += minutes(2)
    a.records["a-0"] += minutes(2)
    assert one.latest_offset(0, {"a-0": 2}) == {"a-0": 2}, "a follower makes no plan"


def test_after_a_restart_the_others_go_on_where_the_checkpoint_ends() -> None:
    a, b = SourceInMemory({"a-0": minutes(*range(9))}, budget=3), SourceInMemory({"b-0": minutes(*range(9))}, budget=3)
    one = session(a, b, run=RunInMemory(logged={1: {"b-0": 5}}))
    one.latest_offset(0, {"a-0": 5})
    assert one.view is not None
    assert {split.partition: split.position for split in one.view.partitions} == {"a-0": 5, "b-0": 5}
    assert one.latest_offset(1, {"b-0": 5}) == {"b-0": 8}


def test_without_a_checkpoint_the_others_begin_where_the_source_begins() -> None:
    a, b = SourceInMemory({"a-0": minutes(0)}), SourceInMemory({"b-0": minutes(0), "b-1": minutes(1)})
    one = session(a, b)
    one.latest_offset(0, {"a-0": 0})
    assert one.latest_offset(1, {"b-0": 0, "b-1": 0}) == {"b-0": 1, "b-1": 1}


def test_a_budget_is_each_source_s_own() -> None:
    a, b = SourceInMemory({"a-0": minutes(*range(100))}), SourceInMemory({"b-0": minutes(*range(100))}, budget=5)
    one = session(a, b)
    assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 5}
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 5}


def test_a_new_split_is_read_from_its_beginning() -> None:
    a = SourceInMemory({"a-0": minutes(0, 1)})
    one = session(a)
    one.latest_offset(0, {"a-0": 0})
    a.records["a-1"] = minutes(2, 3)
    assert one.latest_offset(0, {"a-0": 2}) == {"a-0": 2, "a-1": 2}
    assert one.view is not None
    assert {split.partition: split.position for split in one.view.partitions} == {"a-0": 2, "a-1": 0}


# -- what Spark has to judge --


def test_a_log_that_ends_below_the_position_is_for_spark_to_judge() -> None:
    # The topic was made anew. Spark reports the loss, or goes on from the answer (failOnDataLoss);
    # we must not hide it.
    a = SourceInMemory({"a-0": minutes(0, 1, 2), "a-1": minutes(0, 1)})
    one = session(a)
    assert one.latest_offset(0, {"a-0": 100, "a-1": 1}) == {"a-0": 3, "a-1": 2}


def test_a_split_that_is_gone_is_for_spark_to_judge() -> None:
    a = SourceInMemory({"a-0": minutes(0, 1)})
    one = session(a)
    assert one.latest_offset(0, {"a-0": 0, "a-1": 7}) == {"a-0": 2}


def test_a_source_that_has_lost_all_its_splits_has_nothing_to_read() -> None:
    a, b = SourceInMemory({}), SourceInMemory({"b-0": minutes(0)})
    one = session(a, b)
    assert one.latest_offset(0, {"a-0": 7}) == {}
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 1}


def test_a_paused_split_that_goes_away_is_forgotten() -> None:
    a = SourceInMemory({"a-0": live(180), "a-1": live(180, 169)})
    one = session(a, max_drift="10 minutes", idle_timeout="4 hours")
    one.latest_offset(0, {"a-0": 0, "a-1": 0})
    del a.records["a-1"]
    a.records["a-0"] += live(179)
    assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 2}


def test_a_source_without_splits_holds_nobody(url: str, group: str) -> None:
    one = session(SourceInMemory({"a-0": minutes(0)}), SourceInMemory({}), membership=membership(url, group))
    assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 1}
    for _ in range(2):
        one.close()


# -- waiting --


def test_a_slow_live_split_holds_the_others_by_the_drift() -> None:
    a = SourceInMemory({"a-0": live(180), "a-1": live(180, 171, 169, 1)})
    one = session(a, max_drift="10 minutes", idle_timeout="4 hours")
    assert one.latest_offset(0, {"a-0": 0, "a-1": 0}) == {"a-0": 1, "a-1": 2}
    assert one.view is not None
    assert (one.view.limited_by, one.view.paused) == (Limit.HORIZON, ("a-1",))


def test_a_paused_split_is_seen_and_so_is_that_it_goes_on() -> None:
    a = SourceInMemory({"a-0": live(180), "a-1": live(180, 169)})
    one = session(a, max_drift="10 minutes", idle_timeout="4 hours")
    one.latest_offset(0, {"a-0": 0, "a-1": 0})
    a.records["a-0"] += live(170)
    assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 2, "a-1": 2}
    assert one.view is not None
    assert (one.view.paused, one.view.resumed) == ((), ("a-1",))


def test_a_live_query_waits_no_longer_than_a_step() -> None:
    a = SourceInMemory({"a-0": live(180), "a-1": live(180, 169)})
    time = TimeInMemory()
    one = session(a, max_drift="10 minutes", idle_timeout="4 hours", time=time)
    began = time.now
    assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 1, "a-1": 1}
    assert time.now - began == pytest.approx(STEP_S)


def test_available_now_ends_with_a_warning_if_the_horizon_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    a = SourceInMemory({"a-0": live(180), "a-1": live(180, 169)}).available_now(NOW_MS)
    time = TimeInMemory()
    one = session(a, run=RunInMemory(available_now=True), max_drift="10 minutes", idle_timeout="4 hours", time=time)
    began = time.now
    assert one.latest_offset(0, {"a-0": 1, "a-1": 1}) == {"a-0": 1, "a-1": 1}
    assert 2 < time.now - began < 2.5
    one.close()
    assert one.planner.left in caplog.text
    assert "are left for the next run: a-0 has" in one.planner.left


@pytest.mark.parametrize(("ahead_ms", "read"), [(60 * MINUTE, False), (5 * MINUTE, True)])
def test_available_now_waits_for_the_clock_only_for_a_moment(ahead_ms: int, read: bool) -> None:
    # The horizon rises with the clock, and would in the end reach whatever is stamped in the
    # future.
    time = TimeInMemory()
    a = SourceInMemory({"a-0": [NOW_MS + ahead_ms], "a-1": []}).available_now(NOW_MS)
    began = time.now
    one = AlignedRun(
        Alignment(idle_timeout="100 milliseconds"),
        RunInMemory(available_now=True),
        clock=lambda: NOW_MS / 1000 + time.now - began,
        ticks=time.ticks,
        sleep=time.sleep,
    )
    one.add(0, a)
    answer = one.latest_offset(0, {"a-0": 0, "a-1": 0})
    assert answer == {"a-0": int(read), "a-1": 0}
    assert time.now - began < 10


def test_available_now_leaves_later_records_to_the_next_run() -> None:
    a = SourceInMemory({"a-0": minutes(0, 1)}).available_now(NOW_MS)
    one = session(a, run=RunInMemory(available_now=True))
    a.records["a-0"] += minutes(2)
    assert one.latest_offset(0, {"a-0": 0}) == {"a-0": 2}
    assert one.latest_offset(0, {"a-0": 2}) == {"a-0": 2}


def test_under_available_now_a_held_plan_is_waited_for(url: str, topic: str) -> None:
    create(url, topic, expected_sources=["late"])
    a = SourceInMemory({"a-0": minutes(0, 1)}).available_now(NOW_MS)
    one = session(a, run=RunInMemory(available_now=True), membership=membership(url, topic))
    late = session(SourceInMemory({"l-0": minutes(0)}), membership=membership(url, topic, "late"))
    waiting, answers = asked_aside(one, {"a-0": 0})
    waiting.join(0.5)
    assert waiting.is_alive()
    late.latest_offset(0, {"l-0": 0})
    waiting.join(60)
    assert answers == [{"a-0": 1}]
    for each in (one, late):
        each.close()


def test_a_held_plan_ends_when_the_run_is_stopped(url: str, topic: str) -> None:
    create(url, topic, expected_sources=["never"])
    run = RunInMemory(available_now=True)
    a = SourceInMemory({"a-0": minutes(0, 1)}).available_now(NOW_MS)
    one = session(a, run=run, membership=membership(url, topic))
    waiting, answers = asked_aside(one, {"a-0": 0})
    waiting.join(0.3)
    assert waiting.is_alive()
    run.active = False
    waiting.join(60)
    assert answers == [{"a-0": 0}]
    one.close()


def test_max_wait_ends_the_wait_and_names_who_holds(url: str, topic: str) -> None:
    create(url, topic, expected_sources=["never"])
    a = SourceInMemory({"a-0": minutes(0, 1)}).available_now(NOW_MS)
    one = session(
        a, run=RunInMemory(available_now=True), membership=membership(url, topic), max_wait="300 milliseconds"
    )
    waiting, answers = asked_aside(one, {"a-0": 0})
    waiting.join(60)
    assert isinstance(answers[0], WaitedTooLong)
    assert "blocked by never/0" in str(answers[0])
    assert "max_wait is 0.3 s" in str(answers[0])
    one.close()


# -- the end --


def test_a_source_that_cannot_be_closed_keeps_none_of_the_others_open() -> None:
    a, b = SourceInMemory({"a-0": minutes(0)}), SourceInMemory({"b-0": minutes(0)})
    one = session(a, b)

    def fail() -> None:
        raise ConnectionError("already gone")

    a.jvm.close = fail  # type: ignore[method-assign]
    for _ in range(2):
        one.close()
    assert b.jvm.closed


def test_a_second_end_changes_nothing() -> None:
    one = session(SourceInMemory({"a-0": minutes(0)}))
    for _ in range(3):
        one.close()
    assert one.closed
