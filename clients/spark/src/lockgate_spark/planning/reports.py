"""What a run reports of its sources to the group's coordinator."""

from collections.abc import Mapping

from lockgate import watermark
from lockgate.plan.draft import Draft
from lockgate.plan.model import PlannedState
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.logs.unread import Key, Unread


def source_reports(
    unread: Unread, draft: Draft[Key], states: Mapping[Key, PlannedState], reach: int | None
) -> dict[int, SourceStatus]:
    """Return the report of each source, which is a reader of its own with its own watermark.

    `reach` is the joint plan's (None: none is offered), and `states` are those of the splits in the
    last plan.
    """
    watermarks = draft.reported_watermarks()
    reports = {}
    for i, positions in unread.positions.items():
        splits = {
            split: SplitReport(
                watermark=watermarks[i, split],
                state=SplitState(states.get((i, split), PlannedState.ACTIVE).value),
                position=position,
                end=unread.ends[i][split],
            )
            for split, position in positions.items()
        }
        # a source without splits holds no other reader
        lowest = min((split.watermark for split in splits.values()), default=watermark.MAX)
        reports[i] = SourceStatus(lowest, reach if reach is not None and reach > lowest else None, splits)
    return reports
