"""The rule of a gate, as pure functions: which batch may go on, and what the gate reports.

lockgate does not plan the reads of a gated query: Spark chooses a batch before its event times can
be seen. So the whole batch waits, on its way to the user's function.

**The rule.** A batch with event times `lowest` to `highest` goes on once the group's ceiling is at
least `lowest`. So it begins within the drift, and goes beyond the ceiling by its own span at most.
The source's options limit the size of a batch.

**The report.** Let `top` be the highest event time so far, this batch included. No record that is
still to come, in this batch or later, is older than min(lowest, top - disorder). While a batch
waits or is processed, the watermark is that - 1, and the next report can reach the batch's
`highest`. After the batch, the watermark is top - disorder - 1. A group's drift is above the
disorder. So a gate that holds its group finds its own batch below the ceiling: as long as any query
has a batch, some query may go on.

**Out of order.** The report is wrong if a later batch holds records below it, because the source
gives them out of order by more than `disorder`. The group has then gone on without them. If they
lie below it by more than the drift, the gate warns.

**Idle.** A gate cannot see whether the source has more. Once no batch with an event time has come
for `idle_timeout` after it was due, the gate holds no other query until the next batch comes.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.event_times import Span


@dataclass(frozen=True, slots=True)
class GateState:
    """What a gate has seen of its query. `top`: the highest event time (ms). `batch`: the event
    times of the batch that waits or is processed; None between two batches.
    """

    disorder: int
    top: int = watermark.MIN
    batch: Span | None = None

    def with_batch(self, span: Span) -> "GateState":
        """Return what is seen once a batch has come."""
        return GateState(self.disorder, max(self.top, span.highest), span)

    def done(self) -> "GateState":
        """Return what is seen once that batch is processed."""
        return GateState(self.disorder, self.top)

    def status(self, *, joint: bool, idle: bool) -> SourceStatus | None:
        """Return the report; None before the first event time. `joint`: whether the group takes
        offers. `idle`: whether no batch has come for so long that none is waited for.
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
        """Return how far (ms) a batch lies below the report; 0 or less if it does not."""
        return 0 if self.top == watermark.MIN else self.top - self.disorder - 1 - span.lowest
