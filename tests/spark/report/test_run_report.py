"""What an observed run has lost, from the figures of its batches."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.plan.model import Limit, PlannedState
from lockgate_spark import Alignment, BatchAlignment, PartitionAlignment
from lockgate_spark.event_times import QueryWatermark
from lockgate_spark.report.findings import Basis, BatchLoss, Findings, Loss, RunState, loss_of
from lockgate_spark.report.run_report import MOST_MOMENTS, RunReport
from lockgate_spark.spark_run import StateOperator

HOUR = 3_600_000
SAVE, JOIN, DEDUPE = "stateStoreSave", "symmetricHashJoin", "dedupe"


class Observed:
    """A run in observe mode whose report goes by the time `at`."""

    name, query_id, run_id = "orders", "id", "run"
    told: tuple[object, list[StateOperator]] | None = None
    at = 100.0

    def __init__(self) -> None:
        self.report = RunReport(cast(Any, self), Alignment(mode="observe"), lambda: self.at)

    def operators(self) -> tuple[object, list[StateOperator]] | None:
        return self.told

    def watermarks(self) -> list[QueryWatermark]:
        return []

    @property
    def found(self) -> Findings:
        return self.report.findings(RunState.RUNNING)


def split(source: int, name: str, watermark: int, position: int = 0, end: int = 1) -> PartitionAlignment:
    return PartitionAlignment(source, name, position, end, PlannedState.ACTIVE, watermark, None, 0)


def view(*splits: PartitionAlignment) -> BatchAlignment:
    return BatchAlignment(0, 0, Limit.BUDGET, splits, (), (), None, (), 0.0, 0.0)


def batch(lost: dict[str, int], exact: bool = True) -> BatchLoss:
    return BatchLoss(lost, oldest=1_000, watermark=5_000, exact=exact)


@pytest.mark.parametrize(
    ("lost", "exact", "operators", "seen", "loss"),
    [
        (0, True, {}, True, Loss(Basis.STATELESS, 0, 0)),
        (60, True, {DEDUPE: 60}, True, Loss(Basis.ROWS, 60, 60)),
        (60, True, {SAVE: 9, JOIN: 5}, False, Loss(Basis.ROWS, 60, 60)),
        (90, False, {DEDUPE: 70}, True, Loss(Basis.OPERATORS, 70, 70)),
        (90, False, {JOIN: 3, DEDUPE: 4}, True, Loss(Basis.OPERATORS, 7, 7)),
        (90, False, {DEDUPE: 95}, True, Loss(Basis.BETWEEN, 0, 90)),
        (90, False, {DEDUPE: 95}, False, Loss(Basis.OPERATORS, 95, 95)),
        (90, False, {SAVE: 9}, True, Loss(Basis.BETWEEN, 9, 90)),
        (90, False, {SAVE: 99}, True, Loss(Basis.BETWEEN, 0, 90)),
        (90, False, {SAVE: 9}, False, Loss(Basis.BETWEEN, 9, None)),
        (None, True, {SAVE: 9}, True, Loss(Basis.UNCOUNTED, 9, None)),
        (None, True, {DEDUPE: 70}, True, Loss(Basis.OPERATORS, 70, 70)),
    ],
)
def test_a_loss_is_exact_only_where_rows_are_followed_or_spark_counts_each(
    lost: int | None, exact: bool, operators: dict[str, int], seen: bool, loss: Loss
) -> None:
    assert loss_of(lost, exact, operators, repeated=False, ran=True, seen=seen) == loss


@pytest.mark.parametrize(
    ("lost", "exact", "operators", "loss"),
    [
        (60, True, {DEDUPE: 140}, Loss(Basis.ROWS, 60, 60)),
        (90, False, {DEDUPE: 70}, Loss(Basis.BETWEEN, 0, 70)),
        (90, False, {DEDUPE: 140}, Loss(Basis.BETWEEN, 0, 90)),
        (90, False, {SAVE: 18}, Loss(Basis.BETWEEN, 0, 90)),
        (None, True, {DEDUPE: 140}, Loss(Basis.UNCOUNTED, 0, 140)),
        (None, True, {SAVE: 18}, Loss(Basis.UNCOUNTED, 0, None)),
    ],
)
def test_operators_that_computed_a_batch_twice_give_no_exact_loss(
    lost: int | None, exact: bool, operators: dict[str, int], loss: Loss
) -> None:
    assert loss_of(lost, exact, operators, repeated=True, ran=True, seen=True) == loss


@given(
    lost=st.none() | st.integers(0, 99),
    exact=st.booleans(),
    operators=st.dictionaries(st.sampled_from([SAVE, JOIN, DEDUPE]), st.integers(0, 300)),
    repeated=st.booleans(),
    seen=st.booleans(),
)
def test_no_more_rows_are_lost_than_were_counted(
    lost: int | None, exact: bool, operators: dict[str, int], repeated: bool, seen: bool
) -> None:
    loss = loss_of(lost, exact, operators, repeated, ran=True, seen=seen)
    assert loss.most is None or loss.least <= loss.most
    assert lost is None or not seen or (loss.most is not None and loss.most <= lost)


def test_sources_of_one_plan_are_one_batch_with_figures_by_split() -> None:
    one, plan = Observed(), view(split(0, "a-0", HOUR), split(1, "b-0", 3 * HOUR))
    one.report.read(0, {"a-0": 0}, {"a-0": 5}, plan, 100)
    one.report.read(1, {"b-0": 2}, {"b-0": 5}, plan, None)
    one.report.after_batch(0, batch({"a-0": 3}))
    one.report.after_batch(1, batch({}))
    found = one.found
    assert [(s.partition, s.offsets, s.lost, s.ahead_ms) for s in found.partitions] == [
        ("a-0", 5, 3, 0),
        ("b-0", 3, 0, 2 * HOUR),
    ]
    assert (found.batches, found.rows, found.apart_ms) == (1, 8, 2 * HOUR)
    assert [(s.max_offsets_per_trigger, s.largest_batch) for s in found.sources] == [(100, 5), (None, 3)]
    assert found.lateness_ms == 4_000


def test_a_split_that_has_nothing_to_read_is_not_far_from_any() -> None:
    one = Observed()
    one.report.read(0, {"a-0": 0}, {"a-0": 5}, view(split(0, "a-0", HOUR), split(0, "a-1", 9 * HOUR, 1, 1)), 100)
    assert one.found.apart_ms == 0


def test_the_time_between_batches_is_not_time_that_they_took() -> None:
    one = Observed()
    for began in (100.0, 1_000.0):
        one.at = began
        one.report.read(0, {"a-0": 0}, {"a-0": 5}, None, 100)
        for later in (2.0, 500.0):  # a progress report of an idle trigger, too
            one.at = began + later
            one.report.after_batch(0, None)
    assert one.found.busy_s == 4.0


def test_a_trigger_that_reads_nothing_is_no_batch() -> None:
    one = Observed()
    one.report.read(0, {"a-0": 5}, {"a-0": 5}, view(split(0, "a-0", 0)), 100)
    assert (one.found.batches, one.found.moments) == (0, ())


def test_batch_whose_rows_are_not_followed_makes_the_loss_inexact() -> None:
    one = Observed()
    one.told = 1, [StateOperator(SAVE, 2)]
    one.report.after_batch(0, batch({"a-0": 4}, exact=False))
    assert one.found.loss == Loss(Basis.BETWEEN, 2, 4)


def test_a_progress_report_that_is_seen_twice_counts_once() -> None:
    one = Observed()
    for progress in (1, 1, 2):
        one.told = progress, [StateOperator(DEDUPE, 5)]
        one.report.after_batch(0, None)
    assert one.found.operators == {DEDUPE: 10}


@given(count=st.integers(0, 5 * MOST_MOMENTS))
def test_a_long_timeline_is_merged_and_loses_no_row_and_no_batch(count: int) -> None:
    one, lost = Observed(), [n * n % 7 for n in range(count)]
    for n, rows in enumerate(lost):
        one.at = float(n)
        one.report.read(0, {"a-0": n}, {"a-0": n + 1}, view(split(0, "a-0", n)), None)
        one.report.after_batch(0, batch({"a-0": rows}))
    found = one.found
    assert len(found.moments) <= MOST_MOMENTS
    assert sum(moment.batches for moment in found.moments) == len(lost)
    assert sum(moment.lost for moment in found.moments) == sum(lost)
    assert [moment.at for moment in found.moments] == sorted(moment.at for moment in found.moments)
