"""What progress says of an alignment: source metrics, and a line in the log when something has
changed.
"""

import logging
from dataclasses import replace

import pytest

from lockgate.plan.model import Limit, PlannedState
from lockgate.wire.events import Blocker
from lockgate_spark import Alignment, BatchAlignment, Coordination, PartitionAlignment
from lockgate_spark.telemetry.observer import Observer
from lockgate_spark.telemetry.progress_metrics import late_metrics, source_metrics
from support.runs import SourceInMemory

AHEAD = PartitionAlignment(0, "a-1", 0, 0, PlannedState.PAUSED, 90_000, 90_001, 0, lag=None, paused_since=960.0)
BEHIND = PartitionAlignment(0, "a-0", 0, 7, PlannedState.ACTIVE, 30_000, None, 3, lag=2_000, left_out_so_far=8)
OTHER = PartitionAlignment(1, "b-0", 0, 0, PlannedState.IDLE, 10**12, None, 0)
VIEW = BatchAlignment(
    60_000,
    60_000,
    Limit.HORIZON,
    (BEHIND, AHEAD, OTHER),
    ("a-1",),
    (),
    None,
    (),
    1000.0,
    0.0123,
    look_ups=4,
    bounded_by="a-0",
)


def test_the_metrics_of_a_source_are_text_and_its_own_where_they_can_be() -> None:
    assert source_metrics(VIEW, 0) == {
        "alignmentTarget": "1970-01-01T00:01:00.000Z",
        "alignmentLimitedBy": "partition",
        "alignmentBlockedBy": "a-0",
        "alignmentSpreadMs": "60000",
        "alignmentPausedPartitions": "1",
        "alignmentFarBehindPartitions": "0",
        "alignmentPausedMs": "40000",
        "alignmentBehindMs": "909999",
        "alignmentRowsTooLate": "0",
        "alignmentLeftOut": "8",
        "alignmentPlanMs": "12",
        "alignmentLookUps": "4",
        "alignmentOutOfOrdernessMs": "0",
        "alignmentProducerLagMs": "2000",
    }
    assert source_metrics(replace(VIEW, rows_saved=12), 1)["alignmentRowsSavedEstimate"] == "12"
    other = source_metrics(VIEW, 1)
    assert (other["alignmentPausedPartitions"], other["alignmentLeftOut"], "alignmentProducerLagMs" in other) == (
        "0",
        "0",
        False,
    )


@pytest.mark.parametrize(
    ("coordination", "told"),
    [(Coordination.CONNECTED, "connected"), (Coordination.HOLDING, "holding"), (Coordination.PROCEEDING, "proceeding")],
)
def test_in_a_group_the_metrics_show_where_the_ceiling_comes_from(coordination: Coordination, told: str) -> None:
    assert source_metrics(replace(VIEW, coordinator=coordination), 1)["alignmentCoordinator"] == told


def test_the_holder_is_a_split_of_the_query_or_the_group_s_readers() -> None:
    blocked_by = (Blocker(source="orders", subtask=0, watermark=5), Blocker(source="payments", subtask=1, watermark=5))
    assert (
        replace(VIEW, limited_by=Limit.GROUP, blocked_by=blocked_by, bounded_by=None).blocker == "orders/0, payments/1"
    )
    assert replace(VIEW, limited_by=Limit.BUDGET, blocked_by=blocked_by, bounded_by=None).blocker == ""


def test_late_rows_are_told_in_all_and_by_split() -> None:
    assert late_metrics({"a-1": 2, "a-0": 5}, exact=False) == {
        "lateRows": "7",
        "lateRowsByPartition": '{"a-0": 5, "a-1": 2}',
        "lateRowsExact": "false",
    }


def test_change_is_logged_at_most_every_ten_seconds(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "lockgate")
    observer = Observer(Alignment(), {0: SourceInMemory({})})
    free = replace(VIEW, limited_by=Limit.END, paused=(), bounded_by=None)
    told = []
    for view, at in ((VIEW, 1000.0), (VIEW, 1020.0), (free, 1021.0), (VIEW, 1022.0), (free, 1029.0), (free, 1040.0)):
        caplog.clear()
        observer.view = replace(view, planned_at=at)
        observer.progress(0)
        told.append(len(caplog.records))
    assert told == [1, 0, 1, 0, 0, 0]
    caplog.clear()
    observer.view = replace(VIEW, planned_at=1050.0, applied=False)
    observer.progress(0)
    assert caplog.messages == [
        "mode observe: would be aligned to 1970-01-01T00:01:00.000Z, limited by partition, blocked by a-0; 1 of 3 "
        "partitions paused, the longest"
        " for 1 min 30 s; first unread records 1 min apart; planned in 12 ms"
    ]
