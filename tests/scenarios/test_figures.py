"""What lockgate said of its runs is held against the truth, and what it kept to itself."""

from dataclasses import replace
from pathlib import Path

import pytest
from seeded.figures import figures_of, late_rows, misstated
from seeded.played import Batch, Figures, Lane, Record, Run, Split
from seeded.scenario import Kind, Operator, Query, Scenario, Source, Stop
from seeded.truth import readings

A, B = Split("a", 0), Split("a@1", 0)
OBSERVED = Query(Operator.DEDUP, 0, 1_000, (Source(("a",)),), {"mode": "observe"})
LOGS = tuple(Record(n, 0, A, n, at, 0, 0) for n, at in enumerate((1_000, 9_000, 2_000, 9_001)))
LANE = Lane(
    (Batch(0, 0, 0, 0, {A: 2}, ((0,), (1,))), Batch(1, 0, 0, 9_000, {A: 2}), Batch(2, 0, 0, 9_000, {A: 4}, ((3,),))),
    (Run(0, 0, 0, aligned=False, available_now=True),),
)
TRUE = Figures({A: 1}, least=1, most=1)


def said(figures: Figures, kind: Kind = Kind.FIGURES, query: Query = OBSERVED, **fields: object) -> list[str]:
    scenario = Scenario(1_005, kind, "by hand", query, **{"acts": (), **fields})  # type: ignore[arg-type]
    return misstated(scenario, replace(LANE, figures=(figures,)), readings(LANE, LOGS), [LOGS[2]])


def test_rows_are_late_by_the_watermark_that_is_logged_with_the_batch_before() -> None:
    assert late_rows(OBSERVED, LANE, readings(LANE, LOGS)) == {A: 1}


def test_true_figures_are_not_objected_to() -> None:
    assert said(TRUE) == []


@pytest.mark.parametrize(
    "figures",
    [
        replace(TRUE, least=2, most=2),
        replace(TRUE, least=0, most=0),
        replace(TRUE, late={A: 2}),
        replace(TRUE, late={B: 1}),
        replace(TRUE, most=None),
    ],
)
def test_a_false_figure_is_objected_to(figures: Figures) -> None:
    assert len(said(figures)) == 1


def test_a_range_that_holds_the_truth_is_true() -> None:
    assert said(replace(TRUE, least=0, most=3)) == []


def test_a_run_that_was_stopped_amid_a_batch_may_count_it_twice() -> None:
    assert said(replace(TRUE, late={A: 2}, least=2, most=2), acts=(Stop(),)) == []


def test_rows_that_nothing_counts_as_too_late_are_objected_to() -> None:
    aligned, many = replace(OBSERVED, alignment={}), [LOGS[2]] * 10
    scenario = Scenario(1_007, Kind.GROWING, "by hand", aligned, ())
    for too_late, objections in ((0, 1), (5, 0)):
        lane = replace(LANE, figures=(Figures(too_late=too_late),))
        assert len(misstated(scenario, lane, readings(LANE, LOGS), many)) == objections


def test_a_wait_for_the_clock_that_is_not_shown_is_objected_to() -> None:
    aligned = replace(OBSERVED, alignment={})
    assert len(said(Figures(), Kind.AHEAD, aligned)) == 1
    assert said(Figures(behind_ms=1), Kind.AHEAD, aligned) == []


def test_figures_are_of_the_batches_that_have_rows(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text('{"rows": {"lost": {"least": 1, "most": 2}}}')
    first, second = ({"lateRowsByPartition": f'{{"t-0": {rows}}}', "alignmentBehindMs": "7"} for rows in (3, 2))
    batches = [
        {"sources": [{"numInputRows": 5, "metrics": first}, {"numInputRows": 5, "metrics": second}]},
        {"sources": [{"numInputRows": 0, "metrics": first}, {"numInputRows": 0, "metrics": None}]},
    ]
    found = figures_of(batches, tmp_path, lambda source, topic, partition: Split(f"{topic}@{source}", int(partition)))
    assert found == Figures({Split("t@0", 0): 3, Split("t@1", 0): 2}, 1, 2, behind_ms=7)


def test_without_a_count_and_a_report_nothing_is_claimed(tmp_path: Path) -> None:
    assert figures_of([{"sources": [{"numInputRows": 5, "metrics": {}}]}], tmp_path, Split) == Figures()  # type: ignore[arg-type]
