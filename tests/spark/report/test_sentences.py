"""The words of a report: each figure is in them, and what is not known is said so."""

import json
from dataclasses import replace

import pytest

from lockgate_spark.report.document import page, text
from lockgate_spark.report.findings import (
    Basis,
    Findings,
    Loss,
    Moment,
    PartitionFindings,
    RunState,
    SourceFindings,
    advice,
    kept,
)
from lockgate_spark.report.sentences import headline, meaning, paragraph, saving, unknown

MINUTE = 60_000
FOUND = Findings(
    query="orders",
    query_id="1cd2678c-0a98",
    run_id="469f9c09",
    state=RunState.ENDED,
    began=1_767_225_600.0,
    until=1_767_229_200.0,
    busy_s=120.0,
    rows=8_000,
    batches=7,
    loss=Loss(Basis.ROWS, 350, 350),
    lateness_ms=91 * MINUTE + 1,
    operators={"stateStoreSave": 13},
    delay_ms=10 * MINUTE,
    max_drift_ms=5 * MINUTE,
    ahead=6,
    offsets_ahead=1_653,
    partitions=(
        PartitionFindings(0, "a-0", 2_000, 350, 0),
        PartitionFindings(0, "a-1", 6_000, 0, 360 * MINUTE),
    ),
    sources=(SourceFindings(0, 1_200, 8_000, 1_200),),
    moments=(Moment(1_767_225_601.0, 1, 350, 360 * MINUTE, 1), Moment(1_767_225_602.0, 6, 0, MINUTE, 2)),
)


def options(found: Findings) -> dict[str, str | None]:
    return {each.option: each.value for each in advice(found)}


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (Loss(Basis.ROWS, 350, 350), "350 of 8,000 rows (4.4 %) were lost."),
        (Loss(Basis.OPERATORS, 1, 1), "1 of 8,000 rows (under 0.1 %) was lost."),
        (Loss(Basis.BETWEEN, 13, 365), "Up to 365 of 8,000 rows (4.6 %) were lost."),
        (Loss(Basis.STATELESS, 0, 0), "No row of 8,000 rows was lost."),
        (Loss(Basis.UNCOUNTED, 13, None), "At least 13 of 8,000 rows were lost."),
        (Loss(Basis.UNCOUNTED, 0, None), "An unknown number of 8,000 rows were lost."),
    ],
)
def test_the_first_sentence_says_how_many_rows_of_how_many_were_lost(loss: Loss, said: str) -> None:
    found = replace(FOUND, loss=loss)
    assert headline(found) == said
    assert paragraph(found).startswith(said)
    assert page(found).index(f"<h1>{said}</h1>") < page(found).index("<svg")


def test_the_paragraph_says_where_when_why_and_what_to_do() -> None:
    said = paragraph(FOUND)
    assert "They came from a-0 (350), in batches of 2026-01-01 00:00:01 UTC." in said
    assert "up to 6 h apart in event time, more than the 10 min that the query's watermark waits" in said
    assert "a-1 was furthest ahead" in said
    assert "Alignment would have kept all of them." in said
    assert "mode=\"align\" with max_drift='5 minutes'; maxOffsetsPerTrigger 1200." in said
    assert "Spark read 7 batches, 6 of them ahead of the plan, by 1,653 offsets" in said


def test_advised_drift_is_at_most_the_delay() -> None:
    assert options(replace(FOUND, max_drift_ms=60 * MINUTE))["max_drift"] == "10 minutes"
    assert options(FOUND)["max_drift"] == "5 minutes"
    assert options(replace(FOUND, max_drift_ms=0))["max_drift"] == "10 minutes"
    assert options(replace(FOUND, delay_ms=None))["max_drift"] is None


def test_without_a_budget_one_is_advised_by_the_speed_of_the_run() -> None:
    unlimited = replace(FOUND, sources=(SourceFindings(0, None, 1_840_000, 900_000),))
    assert options(unlimited)["maxOffsetsPerTrigger"] == "900000"  # 1,840,000 in two busy minutes
    assert options(FOUND)["maxOffsetsPerTrigger"] == "1200"


def test_delay_needed_without_alignment_is_in_whole_minutes() -> None:
    assert options(FOUND)["withWatermark"] == "1 hour 42 minutes"


@pytest.mark.parametrize(
    ("found", "least", "why"),
    [
        (FOUND, 350, ""),
        (replace(FOUND, too_late=20), 330, "came later than their producer was waited for"),
        (replace(FOUND, out_of_orderness_ms=11 * MINUTE), None, "out of order by 11 min"),
        (replace(FOUND, left_out=2), None, "time stamp outside the bounds"),
        (replace(FOUND, seen=False), None, "another event time"),
    ],
)
def test_what_alignment_cannot_keep_is_not_promised(found: Findings, least: int | None, why: str) -> None:
    assert kept(found).least == least
    assert why in saving(found)


def test_what_is_not_known_is_said() -> None:
    uncounted = replace(FOUND, loss=Loss(Basis.UNCOUNTED, 0, None), uncounted="the count is switched off")
    assert "The late rows were not counted: the count is switched off." in meaning(uncounted)
    assert "Late rows were not counted: the count is switched off." in unknown(uncounted)
    assert json.loads(text(uncounted))["rows"]["lost"]["most"] is None


def test_names_of_topics_and_queries_are_text_on_the_page() -> None:
    evil = "<script>alert(1)</script>"
    named = replace(FOUND, query=evil, partitions=(PartitionFindings(0, f"{evil}-0", 1, 1, 0),))
    assert "<script" not in page(named)
    assert page(named).count("&lt;script&gt;") == 4


def test_a_run_without_a_batch_has_a_page_too() -> None:
    empty = Findings(
        query=None,
        query_id="id",
        run_id="run",
        state=RunState.RUNNING,
        began=0.0,
        until=0.0,
        rows=0,
        batches=0,
        loss=Loss(Basis.UNCOUNTED, 0, 0),
    )
    assert "<h1>No row of 0 rows was lost.</h1>" in page(empty)
    assert json.loads(text(empty))["timeline"] == []
