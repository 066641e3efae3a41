"""The numbers of a run as gauges: the ones of progress under their names there, and event times as
numbers.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace

import pytest

from lockgate import watermark
from lockgate.plan.model import Limit, PlannedState
from lockgate.wire.events import Blocker
from lockgate_spark import Alignment, BatchAlignment, Coordination, PartitionAlignment
from lockgate_spark.planning.aligned_run import AlignedRun
from lockgate_spark.telemetry.progress_metrics import gauges, source_metrics
from support.runs import GaugesInMemory, RunInMemory, SourceInMemory

HOUR_MS = 3_600_000
NOW_MS = 1_767_225_600_000

AHEAD = PartitionAlignment(
    0, "a-1", 0, 0, PlannedState.PAUSED, 90_000, 90_001, 2, paused_since=960.0, left_out_so_far=2
)
BEHIND = PartitionAlignment(0, "a-0", 0, 7, PlannedState.ACTIVE, 30_000, None, 3, lag=2_000, left_out_so_far=8)
OTHER = PartitionAlignment(
    1, "b-0", 0, 0, PlannedState.PAUSED, 80_000, None, 1, lag=5_000, paused_since=990.0, left_out_so_far=1
)
ALONE = BatchAlignment(
    60_000,
    watermark.MAX,
    Limit.HORIZON,
    (BEHIND, AHEAD, OTHER),
    ("a-1", "b-0"),
    (),
    None,
    (),
    1000.0,
    0.0123,
    look_ups=4,
    bounded_by="a-0",
)
HELD = (Blocker(source="payments", subtask=0, watermark=20_000),)
GROUPED = replace(
    ALONE,
    limited_by=Limit.GROUP,
    read_limit=60_000,
    group_watermark=20_000,
    blocked_by=HELD,
    bounded_by=None,
    coordinator=Coordination.CONNECTED,
)


def shown(view: BatchAlignment, *names: str) -> list[int | None]:
    found: Mapping[str, int | None] = gauges(view)
    return [found[name] for name in names]


def test_every_number_of_progress_is_a_gauge_of_its_name() -> None:
    numbers = [name for name, text in source_metrics(ALONE, 0).items() if text.isdecimal()]
    assert "alignmentPausedMs" in numbers
    assert {f"alignment{name[0].upper()}{name[1:]}" for name in gauges(ALONE)} >= set(numbers)


def test_counts_of_each_source_are_added_up_and_those_of_the_query_are_not() -> None:
    assert shown(ALONE, "pausedPartitions", "leftOut") == [2, 11]
    assert shown(ALONE, "pausedMs", "spreadMs", "planMs", "lookUps", "producerLagMs") == [40_000, 60_000, 12, 4, 5_000]


def test_event_times_are_numbers_and_one_without_bound_has_no_value() -> None:
    assert shown(ALONE, "targetMs", "readLimitMs", "watermarkMs", "blockedByGroup") == [60_000, None, 30_000, 0]
    assert shown(replace(ALONE, partitions=(), target=watermark.MIN), "targetMs", "watermarkMs") == [None, None]


def test_gauges_show_drift_to_the_group_and_whether_it_blocks() -> None:
    assert shown(GROUPED, "groupWatermarkMs", "driftMs", "blockedByGroup") == [20_000, 10_000, 1]
    assert shown(replace(GROUPED, paused=()), "blockedByGroup") == [0], (
        "it has read all that there is below the ceiling"
    )


@pytest.mark.parametrize(
    ("coordination", "away", "proceeding"),
    [(Coordination.CONNECTED, 0, 0), (Coordination.HOLDING, 1, 0), (Coordination.PROCEEDING, 1, 1)],
)
def test_gauges_show_whether_a_query_proceeds_in_an_outage(
    coordination: Coordination, away: int, proceeding: int
) -> None:
    assert shown(replace(GROUPED, coordinator=coordination), "coordinatorAway", "proceeding") == [away, proceeding]


@pytest.mark.parametrize("unknown", [None, watermark.MIN, watermark.MAX])
def test_unknown_group_watermark_is_no_gauge_of_0(unknown: int | None) -> None:
    assert shown(replace(GROUPED, group_watermark=unknown), "groupWatermarkMs", "driftMs") == [None, None]


def test_without_a_group_there_are_no_gauges_of_one() -> None:
    assert not {"groupWatermarkMs", "driftMs", "coordinatorAway", "proceeding"} & gauges(ALONE).keys()


def test_each_plan_is_shown_and_the_end_of_the_run_takes_the_gauges_away() -> None:
    shown = GaugesInMemory()
    one = AlignedRun(Alignment(), RunInMemory(), clock=lambda: NOW_MS / 1000, gauges=shown)
    one.add(0, SourceInMemory({"a-0": [60_000, 120_000, 180_000]}, budget=2))
    targets = []
    for position in (0, 2):
        one.latest_offset(0, {"a-0": position})
        assert one.view is not None
        targets.append(one.view.target)
    assert [values["targetMs"] for values in shown.values] == targets
    for source, total in ((0, 3), (1, 2), (0, 5)):
        one.tell_late(source, total)
    assert shown.values[-1] == {"lateRowsTotal": 7}
    one.close()
    assert shown.closed == 1


def test_while_a_query_waits_inside_a_plan_its_gauges_say_for_how_long() -> None:
    shown, seconds, run = GaugesInMemory(), itertools.count(NOW_MS // 1000, 2), RunInMemory(available_now=True)
    source = SourceInMemory({"a-0": [NOW_MS - 23 * HOUR_MS], "a-1": []}).available_now(NOW_MS)
    one = AlignedRun(Alignment(idle_timeout="1 day"), run, clock=lambda: next(seconds), gauges=shown)
    one.add(0, source)
    shown.at(3, lambda: setattr(run, "active", False))
    assert one.latest_offset(0, {"a-0": 0, "a-1": 0}) == {"a-0": 0, "a-1": 0}
    paused = [values["pausedMs"] or 0 for values in shown.values[:3]]
    assert paused[0] == 0
    assert paused[0] < paused[1] < paused[2]
    assert {values["pausedPartitions"] for values in shown.values} == {1}
