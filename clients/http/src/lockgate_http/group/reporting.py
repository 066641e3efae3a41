"""What one query has to report, and when. Pure: the clock is an argument, and nothing is sent
here.
"""

from collections.abc import Mapping

from lockgate import watermark
from lockgate.wire.events import ReaderFacts, ReportedWatermarkEvent
from lockgate_http.group.source_status import Farewell, SourceStatus, report_of, urgent


class Reporting:
    """The reports of one query. `statuses`: by subtask, as of the last plan. `in_doubt`: the last
    event of the group may no longer hold, so a report is due at once.

    `max_batch_s`: a batch that takes longer is not kept alive.
    """

    def __init__(self, now: float, max_batch_s: float) -> None:
        self.statuses: Mapping[int, SourceStatus] = {}
        self.in_doubt = False
        self._max_batch_s = max_batch_s
        self._planned_at = now
        self._sent: Mapping[int, SourceStatus] = {}  # on the way to the coordinator
        self._answered: Mapping[int, SourceStatus] = {}  # what the coordinator has of this epoch
        self._facts: Mapping[int, ReaderFacts | None] = {}  # as of the last plan
        self._facts_sent: Mapping[int, ReaderFacts | None] = {}
        self._facts_answered: Mapping[int, ReaderFacts | None] = {}
        self._farewell: Farewell | None = None

    def take(self, statuses: Mapping[int, SourceStatus], now: float) -> bool:
        """Take in the statuses of a plan. Returns whether other readers wait for the change."""
        changed = urgent(self.statuses) != urgent(statuses)
        if statuses != self.statuses:
            self.statuses = dict(statuses)
        self._facts = _facts_of(statuses)
        self._planned_at = now
        return changed

    @property
    def lowest(self) -> int:
        """The lowest watermark of the sources that count in the group; MAX: none does. A source
        that has no watermark yet does not count.
        """
        counting = (status.watermark for status in self.statuses.values() if not status.idle)
        return min((each for each in counting if each > watermark.MIN), default=watermark.MAX)

    def end(self, statuses: Mapping[int, SourceStatus], farewell: Farewell) -> None:
        """Take in the statuses of the last report."""
        self.statuses, self._farewell, self._facts = dict(statuses), farewell, _facts_of(statuses)

    def is_due(self, after_s: float, now: float, answered_at: float) -> bool:
        """Return whether a report has to be repeated: none was answered for so many seconds, or
        there is doubt.
        """
        if now - self._planned_at > self._max_batch_s:
            return False
        return self.in_doubt or now - answered_at >= after_s

    def events(self, epochs: Mapping[int, int]) -> list[ReportedWatermarkEvent]:
        """Return the events to send now.

        Each status names its splits once. 5,000 splits are 600 kB, and to name them again would
        undo the progress that executors have reported since. Facts are named where they have
        changed since the last answer.
        """
        self.in_doubt = False
        self._sent, self._facts_sent = self.statuses, self._facts
        names_splits = self._answered is not self._sent
        return [
            report_of(subtask, epochs[subtask], status, self._farewell, names_splits, self._news_of(subtask))
            for subtask, status in self._sent.items()
            if subtask in epochs
        ]

    def answered(self) -> None:
        """Record that the coordinator has what was sent."""
        self._answered, self._facts_answered = self._sent, self._facts_sent

    def forget_answered(self) -> None:
        """Record that the coordinator has nothing of the new epoch yet."""
        self._answered, self._facts_answered = {}, {}

    def _news_of(self, subtask: int) -> ReaderFacts | None:
        """Return the facts of a reader, where the coordinator has others."""
        facts = self._facts_sent.get(subtask)
        return None if facts == self._facts_answered.get(subtask) else facts


def _facts_of(statuses: Mapping[int, SourceStatus]) -> dict[int, ReaderFacts | None]:
    return {subtask: status.facts for subtask, status in statuses.items()}
