"""Sources that have no split: no topic matches their pattern yet, or no more."""

from support.runs import RunInMemory, SourceInMemory
from support.sessions import NOW_MS, live, minutes, session


def test_a_source_without_a_split_is_answered_no_offset_and_holds_nobody() -> None:
    a, b = SourceInMemory({}), SourceInMemory({"b-0": minutes(0, 1)})
    one = session(a, b)
    assert one.latest_offset(0, {}) == {}
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 2}


def test_new_topic_is_read_from_its_first_record() -> None:
    a = SourceInMemory({})
    one = session(a)
    a.comes = lambda ends, seconds: True  # type: ignore[method-assign]  # the second is over
    assert one.latest_offset(0, {}) == {}
    a.records["a-0"] = minutes(0, 1)
    assert one.latest_offset(0, {}) == {"a-0": 2}


def test_while_all_topics_are_gone_a_source_stands_where_spark_has_it() -> None:
    # Spark keeps the offsets that it has where the source knows none: a topic made anew is measured
    # against those by both.
    leader, gone = SourceInMemory({"a-0": minutes(0)}), SourceInMemory({"b-0": minutes(0, 1, 2)})
    one = session(leader, gone)
    one.latest_offset(0, {"a-0": 0})
    assert one.latest_offset(1, {"b-0": 0}) == {"b-0": 3}
    del gone.records["b-0"]
    leader.records["a-0"] += minutes(3)
    one.latest_offset(0, {"a-0": 1})
    assert one.latest_offset(1, {"b-0": 3}) == {}
    gone.records["b-0"] = minutes(4, 5, 6, 7)
    leader.records["a-0"] += minutes(8)
    one.latest_offset(0, {"a-0": 2})
    assert one.view is not None
    assert {split.partition: split.position for split in one.view.partitions} == {"a-0": 2, "b-0": 3}


def test_a_run_over_what_is_there_ends_with_nothing() -> None:
    source = SourceInMemory({}).available_now(NOW_MS)
    one = session(source, run=RunInMemory(available_now=True))
    source.records["a-0"] = live(1)
    assert one.latest_offset(0, {}) == {}
