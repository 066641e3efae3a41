"""A query over two clusters that have a topic of one name: nothing that is counted or shown merges
their partitions.
"""

import logging
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate_spark.logs.unread import named, names
from lockgate_spark.report.document import page
from lockgate_spark.report.findings import PartitionFindings
from lockgate_spark.report.sentences import paragraph
from spark.report.test_sentences import FOUND
from support.runs import SourceInMemory
from support.sessions import NOW_MS, live, session

FOUR_HOURS = "delete\t14400000\t-1\tCreateTime"
KEYS = st.tuples(st.integers(0, 3), st.sampled_from(["a-0", "a-1", "b-0"]))


@given(st.sets(KEYS, min_size=1))
def test_split_names_differ_and_have_a_source_only_if_needed(keys: set[tuple[int, str]]) -> None:
    found = names(keys, keys)
    assert len(set(found.values())) == len({named(key, keys) for key in keys}) == len(keys)
    for (i, split), name in found.items():
        alone = [j for j, other in keys if other == split] == [i]
        assert name == (split if alone else f"{split} of source {i}")


def test_what_is_let_go_paused_and_resumed_is_told_apart_by_source(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    ours = SourceInMemory({"a-0": live(230), "a-1": live(*range(230, 180, -1))})
    theirs = SourceInMemory({"a-1": live(*range(225, 180, -1))})
    ours.jvm.config, theirs.jvm.config = "", FOUR_HOURS
    one = session(ours, theirs, max_drift="10 minutes", idle_timeout="5 hours")
    one.latest_offset(0, {"a-0": 0, "a-1": 0})
    assert one.view is not None
    assert (one.view.paused, one.view.read_early) == (("a-1 of source 0", "a-1 of source 1"), ("a-1 of source 1",))
    assert {(split.source, split.partition): split.read_early for split in one.view.partitions} == {
        (0, "a-0"): 0,
        (0, "a-1"): 0,
        (1, "a-1"): 4,
    }
    one.close()
    one.close()
    assert any(line.startswith("topic a, partition 1 of source 1: reading early from") for line in caplog.messages)
    assert "offsets read early because of retention, by partition: a-1 of source 1 4" in caplog.messages


def test_left_out_records_are_counted_by_source_and_split(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    far = NOW_MS + 10**12
    one = session(*(SourceInMemory({"a-0": [*live(2), far, *live(1)]}) for _ in range(2)), idle_timeout="1 minute")
    one.latest_offset(0, {"a-0": 0})
    one.latest_offset(1, {"a-0": 0})
    one.close()
    one.close()
    assert (
        "at least this many records were left out of the alignment, by partition: a-0 of source 0 1, a-0 of source 1 1"
        in caplog.messages
    )
    warned = [line.partition(":")[0] for line in caplog.messages if "left out of the alignment, but" in line]
    assert warned == ["topic a, partition 0 of source 0", "topic a, partition 0 of source 1"]


def test_a_report_names_the_source_of_partitions_with_one_name() -> None:
    splits = tuple(PartitionFindings(i, "a-0", 1_000, 10 + i, 10 + i, 100 * i) for i in (0, 1))
    found = replace(FOUND, partitions=splits)
    assert "They came from a-0 of source 1 (11), a-0 of source 0 (10), in batches" in paragraph(found)
    assert "a-0 of source 1 was furthest ahead." in paragraph(found)
    assert all(f"a-0 of source {i}</th>" in page(found) for i in (0, 1))
