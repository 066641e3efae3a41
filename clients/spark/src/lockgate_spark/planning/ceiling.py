"""The exchange with the query's group, which takes the query's reports and returns the ceiling of
the next plan.

A query reports its watermarks before each plan. No plan exceeds the ceiling that the query's
readers received last, except for records that Kafka is about to delete (`retention`).
"""

from collections.abc import Mapping

from lockgate import watermark
from lockgate.plan.draft import Draft
from lockgate.plan.model import PlannedState
from lockgate.wire.events import SplitReport, SplitState
from lockgate_http.group.membership import Membership
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.logs.unread import Key, Unread
from lockgate_spark.planning.look import Looker
from lockgate_spark.planning.query_facts import QueryFacts
from lockgate_spark.planning.retention import Retention
from lockgate_spark.planning.steps import Look, PlanCeiling, Planned, answered
from lockgate_spark.telemetry.observer import Observer


class Exchange:
    """The exchanges of one run with its group. `membership` is None without a group. `facts` adds
    the reader stats to the reports.
    """

    def __init__(
        self,
        membership: Membership | None,
        looker: Looker,
        retention: Retention,
        facts: QueryFacts,
        observer: Observer,
    ) -> None:
        self._membership, self._looker, self._retention = membership, looker, retention
        self._facts, self._observer = facts, observer
        self.made: Planned | None = None  # the last plan
        self.states: Mapping[Key, PlannedState] = {}  # of the splits, by the last plan that was carried out

    def ceiling(self, look: Look, draft: Draft[Key]) -> PlanCeiling:
        """Report the sources to the group, and return its ceiling. Without a group, return a
        ceiling of MAX. Raises the errors of `Membership.exchange`.
        """
        if self._membership is None:
            return PlanCeiling()
        reports = answered(lambda: self.reports(look, draft), look, self._looker.add)
        return PlanCeiling(self._membership.exchange(reports), self._membership.last)

    def reports(self, look: Look, draft: Draft[Key]) -> dict[int, SourceStatus]:
        """Return the report of each source, based on a look and its draft."""
        statuses = source_reports(look.unread, draft, self.states, self._reach(draft))
        retained = {} if self.made is None else self._retention.retained(self.made.cut, self.made.basis.look.unread)
        return self._facts.added(statuses, self._observer.rows_saved, self._looker.producers.shown, retained)

    def _reach(self, draft: Draft[Key]) -> int | None:
        if self._membership is None or not self._membership.joint:
            return None
        return draft.reach if self._looker.slices is None else self._looker.slices.reach(draft)


def source_reports(
    unread: Unread, draft: Draft[Key], states: Mapping[Key, PlannedState], reach: int | None
) -> dict[int, SourceStatus]:
    """Return the report of each source. Each source is a reader with its own watermark.

    `reach` is the query's proposed target (ms); None if it is not reported. `states` has the states
    of the splits in the last plan that was carried out.
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
