"""Views that cross from the process that plans to a client without a JVM."""

import json

from lockgate.plan.model import Limit, PlannedState
from lockgate.wire.codec import from_json, to_json
from lockgate.wire.events import Blocker, SourcePause
from lockgate_http.group.outage import Coordination
from lockgate_spark.status import AlignmentStatus, QueryState
from lockgate_spark.telemetry.view import BatchAlignment, BatchSlice, PartitionAlignment

SPLIT = PartitionAlignment(0, "orders-1", 5, 9, PlannedState.PAUSED, 77, None, 0, paused_since=1.5)
VIEW = BatchAlignment(
    target=100,
    read_limit=200,
    limited_by=Limit.GROUP,
    partitions=(SPLIT,),
    paused=("orders-1",),
    resumed=(),
    group_watermark=90,
    blocked_by=(Blocker(source="payments", subtask=0, watermark=90, split="payments-3"),),
    planned_at=1.25,
    seconds=0.5,
    slice=BatchSlice(0, 10, True),
    coordinator=Coordination.CONNECTED,
    operator_pause=SourcePause(source="orders", at=3, by=None),
)


def test_a_view_comes_back_from_json_as_it_was() -> None:
    status = AlignmentStatus("orders", QueryState.WAITING, "It waits.", "payments/0", 1.0, 60_000, VIEW)

    assert from_json(AlignmentStatus, json.loads(json.dumps(to_json(status)))) == status


def test_a_field_that_only_one_side_knows_does_no_harm() -> None:
    told = to_json(SPLIT) | {"of_another_release": 1}
    del told["out_of_orderness"]

    assert from_json(PartitionAlignment, told) == SPLIT
