"""What is let go of a paused split for its topic's retention, in a session over lists; and what
topics' configurations are warned of.
"""

import logging

import pytest

from lockgate.plan.model import PlannedState
from lockgate_spark import Alignment, BatchAlignment
from lockgate_spark.planning.aligned_run import AlignedRun
from support.runs import RunInMemory, SourceInMemory
from support.sessions import going_with

MINUTE = 60_000
NOW_MS = 1_767_225_600_000
FOUR_HOURS = "delete\t14400000\t-1\tCreateTime"


class Clock:
    """The wall clock, in seconds."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> float:
        return self.now_ms / 1000


def ago(*minutes: int) -> list[int]:
    return [NOW_MS - m * MINUTE for m in minutes]


def plan(
    config: str, budget: int | None = None, clock: Clock | None = None, slice: str | None = None
) -> tuple[AlignedRun, BatchAlignment]:
    """a-0's producer is 230 minutes behind, so that a-1 is paused 220 minutes before now, a record
    a minute; the first plan of all.
    """
    source = SourceInMemory({"a-0": ago(230), "a-1": ago(*range(230, 180, -1))}, budget)
    source.jvm.config = config
    alignment = Alignment(max_drift="10 minutes", idle_timeout="5 hours", max_out_of_orderness=0, slice=slice)
    clock = clock or Clock()
    session = AlignedRun(alignment, RunInMemory(), None, clock, ticks=going_with(clock))
    session.add(0, source)
    return session, plan_again(session, {"a-0": 0, "a-1": 0})


def plan_again(session: AlignedRun, start: dict[str, int]) -> BatchAlignment:
    session.latest_offset(0, start)
    assert session.view is not None
    return session.view


def ends(view: BatchAlignment) -> list[int]:
    return [split.end for split in view.partitions]


def test_paused_split_is_read_in_the_last_tenth_of_its_retention() -> None:
    _, view = plan(FOUR_HOURS)
    assert ends(view) == [1, 14], "ten up to the ceiling, and four that are older than 216 minutes"
    assert view.partitions[1].state is PlannedState.PAUSED
    assert (view.read_early, view.partitions[1].read_early) == (("a-1",), 4)


@pytest.mark.parametrize("config", ["delete\t18000000\t-1\tCreateTime", "compact\t14400000\t-1\tCreateTime", ""])
def test_nothing_is_read_early_before_the_edge_or_where_nothing_is_deleted(config: str) -> None:
    _, view = plan(config)
    assert ends(view) == [1, 10]
    assert view.read_early == ()


def test_nothing_is_read_early_with_slices_since_no_row_may_lie_above_the_cut() -> None:
    _, view = plan(FOUR_HOURS, slice="1 minute")
    assert view.read_early == ()


def test_records_let_go_stay_within_the_rest_of_the_budget() -> None:
    _, view = plan(FOUR_HOURS, budget=13)
    assert ends(view) == [1, 12]


def test_retention_by_size_counts_the_bytes_behind_a_record() -> None:
    # of 50 records with 100 bytes each 18 are in the first nine tenths
    _, view = plan("delete\t-1\t2000\tCreateTime")
    assert ends(view) == [1, 32]


def test_where_everything_left_is_in_danger_the_split_is_read_to_its_end() -> None:
    _, view = plan("compact,delete\t10800000\t-1\tCreateTime")
    assert ends(view) == [1, 50]
    assert view.partitions[1].state is PlannedState.ACTIVE


def test_the_split_is_paused_again_until_the_edge_has_come_nearer() -> None:
    clock = Clock()
    session, _ = plan(FOUR_HOURS, clock=clock)
    again = plan_again(session, {"a-0": 1, "a-1": 14})
    assert (ends(again), again.read_early, again.resumed) == ([1, 14], (), ())
    clock.now_ms += 2 * MINUTE
    later = plan_again(session, {"a-0": 1, "a-1": 14})
    assert (ends(later), later.read_early, later.resumed) == ([1, 16], ("a-1",), ())


def test_records_read_early_are_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    with caplog.at_level(logging.INFO, "lockgate"):
        session, _ = plan(FOUR_HOURS, clock=clock)
        clock.now_ms += 2 * MINUTE
        plan_again(session, {"a-0": 1, "a-1": 14})
        session.close()
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(told) == 1, "not once a batch"
    assert "topic a, partition 1: reading early from offset 10 to 14" in told[0]
    assert "may delete them in 20 min (retention.ms is 4 h)" in told[0]
    assert "offsets read early because of retention, by partition: a-1 6" in caplog.text


def test_records_that_are_stamped_at_arrival_are_warned_of_once_a_topic(caplog: pytest.LogCaptureFixture) -> None:
    session, _ = plan("delete\t-1\t-1\tLogAppendTime")
    plan_again(session, {"a-0": 1, "a-1": 10})
    assert caplog.text.count("topic a: Kafka stamps its records when they arrive") == 1


def test_a_topic_that_may_not_be_described_is_warned_of_and_read_on(caplog: pytest.LogCaptureFixture) -> None:
    _, view = plan("TopicAuthorizationException: not authorized")
    assert ends(view) == [1, 10]
    assert "topic a: its configuration cannot be read, so lockgate ignores its retention: TopicAuth" in caplog.text


def test_where_nobody_tells_how_large_a_log_is_its_size_is_not_watched(caplog: pytest.LogCaptureFixture) -> None:
    source = SourceInMemory({"a-0": ago(230), "a-1": ago(*range(230, 180, -1))})
    source.jvm.config, source.jvm.bytes_a_record = "delete\t-1\t2000\tCreateTime", -1
    session = AlignedRun(
        Alignment(max_drift="10 minutes", idle_timeout="5 hours", max_out_of_orderness=0), RunInMemory(), None, Clock()
    )
    session.add(0, source)
    assert plan_again(session, {"a-0": 0, "a-1": 0}).read_early == ()
    assert "topic a: no broker reports the size of its logs" in caplog.text


def retained(session: AlignedRun) -> dict[int, tuple[int, str]]:
    """When (minutes before now) the first record of a paused split is deleted, and of which."""
    made = session.planner._made
    found = {} if made is None else session.planner._retention.retained(made.cut, made.look.unread)
    return {i: ((NOW_MS - each.until) // MINUTE, each.split) for i, each in found.items()}


def test_it_is_known_when_a_paused_split_loses_its_first_unread_record() -> None:
    # a-1 is paused before the record of 220 minutes ago
    assert retained(plan("delete\t36000000\t-1\tCreateTime")[0]) == {0: (220 - 600, "a-1")}


def test_a_record_that_is_let_go_is_the_next_one_to_be_lost() -> None:
    session, view = plan(FOUR_HOURS)
    assert view.read_early == ("a-1",)
    assert retained(session) == {0: (220 - 240, "a-1")}


@pytest.mark.parametrize(
    "config",
    ["delete\t-1\t-1\tCreateTime", "compact\t14400000\t-1\tCreateTime", "", f"delete\t{2**63 - 1}\t-1\tCreateTime"],
    ids=["kept for ever", "compacted", "not told", "kept for all of 64 bits"],
)
def test_where_kafka_deletes_nothing_or_nobody_tells_there_is_no_such_time(config: str) -> None:
    assert retained(plan(config)[0]) == {}


def test_nothing_paused_is_lost_to_retention() -> None:
    source = SourceInMemory({"a-0": ago(1)})
    source.jvm.config = FOUR_HOURS
    session = AlignedRun(Alignment(max_drift="10 minutes", max_out_of_orderness=0), RunInMemory(), None, Clock())
    session.add(0, source)
    assert retained(session) == {}
    plan_again(session, {"a-0": 0})
    assert retained(session) == {}


def test_deletion_in_a_log_bounded_in_size_follows_from_its_growth() -> None:
    clock = Clock()
    session, _ = plan("delete\t-1\t5000\tCreateTime", clock=clock)
    assert retained(session) == {}, "one look says nothing of its growth"
    clock.now_ms += MINUTE
    session.sources[0].log.requests._jvm.records["a-1"] += [NOW_MS] * 2
    plan_again(session, {"a-0": 1, "a-1": 10})
    # Kafka keeps 50 of 52 records. The paused one is the eleventh: 8 more come in four minutes.
    assert retained(session) == {0: (-5, "a-1")}
