"""The rule of a gate, as pure functions: which batch may be passed on, and what the gate reports.

lockgate does not plan the reads of a gated query: Spark chooses a batch before its event times can
be seen. So the whole batch waits on its way to the user's function.

**The rule.** A batch with event times `lowest` to `highest` is passed on once the group's ceiling
is at least `lowest`. So the batch exceeds the ceiling by at most its own span. The source's options
limit the size of a batch.

**The report.** Let `top` be the highest event time so far, including this batch, and let `disorder`
be the out-of-orderness. No record still to come, in this batch or later, is older than
min(lowest, top - disorder). While a batch waits or is processed, the watermark is this time - 1,
and the proposed target is the batch's `highest`. After the batch, the watermark is
top - disorder - 1. A group's `max_drift` is larger than `disorder`, so if a gate blocks its group,
the gate's own batch begins below the ceiling and is passed on. Therefore, as long as any query has
a batch, some query continues.

**Out of order.** The report is wrong if a later batch contains records below it, because the source
delivers them out of order by more than `disorder`. The group has then gone on without these
records. If they lie more than `max_drift` below the report, the gate logs a warning.

**Idle.** A gate cannot see whether the source has more records. A batch is due when the trigger's
interval has passed since the last one. If no batch with an event time comes within `idle_timeout`
after that, the gate blocks no other query until the next batch comes.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.event_times import Span


@dataclass(frozen=True, slots=True)
class GateState:
    """The values from which a gate's report is computed.

    `top` is the highest event time so far (ms), and `disorder` is how far out of order (ms) records
    may be. `batch` is the range of event times of the batch that waits or is processed; None
    between two batches.
    """

    disorder: int
    top: int = watermark.MIN
    batch: Span | None = None

    def with_batch(self, span: Span) -> "GateState":
        """Return the state after a batch with the event times `span` has come."""
        return GateState(self.disorder, max(self.top, span.highest), span)

    def done(self) -> "GateState":
        """Return the state after the batch was processed."""
        return GateState(self.disorder, self.top)

    def status(self, *, joint: bool, idle: bool) -> SourceStatus | None:
        """Return the report to the group; None if there was no event time yet and the next batch is
        not overdue.

        `joint` says whether the group uses `catch_up: joint`. Then the report of a batch includes
        its proposed target. `idle` says whether the next batch is overdue. If so, the report says
        that the gate blocks no other query.
        """
        if self.batch is None and idle:
            return SourceStatus(watermark.MAX, None, idle=True)
        if self.top == watermark.MIN:
            return None
        lowest = self.top - self.disorder
        if self.batch is None:
            return SourceStatus(lowest - 1, None)
        lowest = min(lowest, self.batch.lowest)
        return SourceStatus(lowest - 1, self.batch.highest if joint and self.batch.highest >= lowest else None)

    def below_report(self, span: Span) -> int:
        """Return how far (ms) a batch lies below the reported watermark; 0 or less if it does
        not.
        """
        return 0 if self.top == watermark.MIN else self.top - self.disorder - 1 - span.lowest
