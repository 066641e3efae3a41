"""Records that are rebuilt field by field, for speed, keep every field: a new one too.

`READER` and `REPORT` have a value that is not the default in each field. A new field has to be
added here, and then each function that rebuilds the record has to keep the field or name the
change.
"""

from dataclasses import MISSING, Field, fields, replace
from typing import Any

import pytest

from lockgate.group.group import create
from lockgate.group.leases import _excused, _lost, _moved, without_reach
from lockgate.group.reader import Arriving, Reader
from lockgate.group.reporting import _Lowests, _reported, _with_facts
from lockgate.wire.events import GroupConfig, ReaderFacts, ReportedWatermarkEvent, SplitReport

REPORT = ReportedWatermarkEvent(
    subtask=3,
    epoch=7,
    watermark=5_000,
    idle=True,
    finished=True,
    batch_id=11,
    park_ms=60_000,
    reach=9_000,
    facts=ReaderFacts(late_rows=2),
    splits={"a-0": SplitReport(watermark=5_000)},
)
READER = Reader(
    epoch=7,
    heard_at=1_000,
    owner="me",
    attributes={"host": "h"},
    reported=REPORT,
    excused=True,
    lost=True,
    progressed_at=900,
    held_since=800,
    overdue=True,
    passed_over=True,
    splits_named=True,
    attempts={"a-0": (11, 1)},
    progress_ignored=4,
    arriving=Arriving(split="a-1", watermark=4_000),
)


def _has_no_default(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def changed(before: Any, after: Any) -> set[str]:
    """The names of the fields that differ."""
    return {each.name for each in fields(before) if getattr(before, each.name) != getattr(after, each.name)}


@pytest.mark.parametrize("record", [READER, REPORT], ids=lambda record: type(record).__name__)
def test_the_records_of_this_file_have_no_field_at_its_default(record: Any) -> None:
    plain = type(record)(**{each.name: 0 for each in fields(record) if _has_no_default(each)})
    assert changed(plain, record) == {each.name for each in fields(record)}


def test_a_report_without_its_reach_keeps_all_else() -> None:
    assert changed(REPORT, without_reach(REPORT)) == {"reach"}


def test_a_report_with_the_facts_of_another_one_keeps_all_else() -> None:
    assert changed(REPORT, _with_facts(REPORT, ReaderFacts(event_time_rate=7))) == {"facts"}


def test_time_changes_only_the_fields_that_it_is_given() -> None:
    same = {name: getattr(READER, name) for name in ("heard_at", "excused", "lost", "reported")}
    assert READER.after_time(**same, held_since=READER.held_since, overdue=READER.overdue) == READER


def test_a_lost_reader_keeps_all_but_its_wait() -> None:
    alive = replace(READER, lost=False)
    assert changed(alive, _lost(alive)) == {"lost", "held_since", "overdue"}


def test_an_outage_moves_lease_and_wait_and_no_other_field() -> None:
    living = replace(READER, excused=False, lost=False, reported=replace(REPORT, park_ms=None, finished=False))
    excused = _excused(living, GroupConfig(), 10_000, living.heard_at + 10_000)
    assert changed(living, excused) == {"heard_at", "excused", "held_since"}


def test_a_clock_that_was_put_back_moves_times_and_no_other_field() -> None:
    living = replace(READER, lost=False)
    moved = _moved(living, GroupConfig(), lambda time_ms: time_ms - 500, 600)
    assert changed(living, moved) == {"heard_at", "progressed_at", "held_since"}


def test_a_report_keeps_what_is_the_reader_s_own() -> None:
    group = create("g", GroupConfig(), 0)
    event = replace(REPORT, watermark=6_000, idle=False, finished=False, park_ms=None, reach=None)
    reader = replace(READER, passed_over=False, held_since=None, overdue=False)
    after = _reported(reader, event, group, 2_000, _Lowests())
    assert changed(reader, after) == {"heard_at", "reported", "excused", "lost", "progressed_at"}
