"""What a query reports and when, without a network."""

from dataclasses import fields, replace

import pytest

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import ReaderFacts, ReportedWatermarkEvent, SplitReport
from lockgate_http.group.reporting import Reporting
from lockgate_http.group.source_status import SourceStatus

SPLITS = {"a-0": SplitReport(watermark=5_000)}
FACTS = ReaderFacts(late_rows=1, event_time_rate=2_000)
STATUS = SourceStatus(watermark=5_000, reach=9_000, splits=SPLITS, idle=True, facts=FACTS)
ALWAYS_S = float("inf")


def reporting(max_batch_s: float = ALWAYS_S) -> Reporting:
    made = Reporting(0.0, max_batch_s)
    made.take({0: STATUS}, 0.0)
    return made


def last_report(park_ms: int | None) -> ReportedWatermarkEvent:
    made = reporting()
    made.end({0: STATUS}, park_ms)
    return made.events({0: 7})[0]


def test_the_status_of_this_file_has_no_field_at_its_default() -> None:
    plain = SourceStatus(0, None)
    assert all(getattr(plain, each.name) != getattr(STATUS, each.name) for each in fields(SourceStatus))


@pytest.mark.parametrize("field", [each.name for each in fields(SourceStatus)])
def test_a_report_has_every_field_of_its_source_s_status(field: str) -> None:
    (made,) = reporting().events({0: 7})
    assert getattr(made, field) == getattr(STATUS, field)


def test_each_field_of_a_report_is_set_or_is_known_to_be_left_out() -> None:
    plain = ReportedWatermarkEvent(subtask=0, epoch=0, watermark=0)
    made = [*reporting().events({0: 7}), last_report(60_000), last_report(None)]
    unset = {
        each.name
        for each in fields(ReportedWatermarkEvent)
        if all(getattr(one, each.name) == getattr(plain, each.name) for one in made)
    }
    assert unset == {"batch_id", "subtask"}, "a batch's number is not sent by this client, and this subtask is 0"


@pytest.mark.parametrize(("park_ms", "finished"), [(None, True), (60_000, False)])
def test_last_report_offers_no_reach_and_is_finished_unless_it_parks(park_ms: int | None, finished: bool) -> None:
    made = last_report(park_ms)
    assert (made.reach, made.finished, made.park_ms) == (None, finished, park_ms)


@pytest.mark.parametrize(
    ("statuses", "lowest"),
    [
        ({}, MAX),
        ({0: STATUS}, MAX),
        ({0: STATUS, 1: SourceStatus(7_000, None), 2: SourceStatus(6_000, None)}, 6_000),
        ({0: SourceStatus(MIN, None), 1: SourceStatus(7_000, None)}, 7_000),
    ],
    ids=["no source", "an idle one", "two that count", "one without a watermark"],
)
def test_the_lowest_watermark_is_that_of_the_sources_that_count(statuses: dict[int, SourceStatus], lowest: int) -> None:
    made = reporting()
    made.take(statuses, 0.0)
    assert made.lowest == lowest


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (SourceStatus(5_001, 9_000, SPLITS, True), True),
        (SourceStatus(5_000, 9_001, SPLITS, True), True),
        (SourceStatus(5_000, 9_000, {}, True), False),
    ],
    ids=["watermark", "reach", "splits"],
)
def test_a_change_is_urgent_where_other_readers_wait_for_it(changed: SourceStatus, expected: bool) -> None:
    assert reporting().take({0: changed}, 1.0) is expected


def test_splits_and_facts_are_named_once_for_each_that_was_answered() -> None:
    made, named, unnamed = reporting(), (SPLITS, FACTS), ({}, None)

    def sent(epoch: int) -> tuple[object, object]:
        (event,) = made.events({0: epoch})
        return event.splits, event.facts

    assert sent(1) == named
    assert sent(1) == named, "the first report was not answered"
    made.answered()
    assert sent(1) == unnamed
    made.forget_answered()
    assert sent(2) == named, "a new epoch has none of them"


def test_other_facts_alone_are_not_urgent_and_name_no_splits_again() -> None:
    made, faster = reporting(), ReaderFacts(late_rows=1, event_time_rate=3_000)
    made.events({0: 1})
    made.answered()
    assert not made.take({0: replace(STATUS, facts=faster)}, 1.0)
    (event,) = made.events({0: 1})
    assert (event.facts, event.splits) == (faster, {})


def test_a_run_s_last_report_has_its_last_facts() -> None:
    made, last = reporting(), ReaderFacts(late_rows=9)
    made.end({0: replace(STATUS, facts=last)}, None)
    assert made.events({0: 1})[0].facts == last


def test_a_reader_without_an_epoch_reports_nothing() -> None:
    assert reporting().events({}) == []


def test_a_report_is_due_after_its_time_or_at_once_in_doubt() -> None:
    made = reporting()
    assert not made.is_due(10.0, now=9.9, answered_at=0.0)
    assert made.is_due(10.0, now=10.0, answered_at=0.0)
    made.in_doubt = True
    assert made.is_due(10.0, now=0.0, answered_at=0.0)
    made.events({0: 1})
    assert not made.is_due(10.0, now=0.0, answered_at=0.0), "the doubt ends with the report that is sent"


def test_batch_longer_than_allowed_does_not_keep_its_lease() -> None:
    made = reporting(max_batch_s=60.0)
    made.in_doubt = True
    assert made.is_due(10.0, now=60.0, answered_at=0.0)
    assert not made.is_due(10.0, now=60.1, answered_at=0.0)
