"""The reports of one query, and when they are due. Nothing is sent here."""

from collections.abc import Mapping

from lockgate import watermark
from lockgate.wire.events import ReaderFacts, ReportedWatermarkEvent
from lockgate_http.group.source_status import SourceStatus

_Statuses = Mapping[int, SourceStatus]
_Facts = Mapping[int, ReaderFacts | None]


class Reporting:
    """The reports of one query.

    `statuses` are by subtask, as of the last plan. `in_doubt` means that the last event of the
    group may no longer hold, so a report is due at once. During a batch, the leases are no longer
    renewed after `max_batch_s` seconds.
    """

    def __init__(self, now: float, max_batch_s: float) -> None:
        self.statuses: _Statuses = {}
        self.in_doubt = False
        self._max_batch_s = max_batch_s
        self._planned_at = now
        self._facts: _Facts = {}  # as of the last plan
        self._sent: tuple[_Statuses, _Facts] = ({}, {})  # on the way to the coordinator
        self._answered: tuple[_Statuses, _Facts] = ({}, {})  # what the coordinator has of this epoch
        self._ended = False
        self._park_ms: int | None = None

    def take(self, statuses: _Statuses, now: float) -> bool:
        """Store the `statuses` of a plan made at `now`, and return whether they are urgent.

        They are urgent if a watermark or proposed target has changed since the previous plan,
        because other readers may be waiting for it. `now` is in monotonic seconds.
        """
        changed = _awaited(self.statuses) != _awaited(statuses)
        if statuses != self.statuses:
            self.statuses = dict(statuses)
        self._facts = _facts_of(statuses)
        self._planned_at = now
        return changed

    @property
    def lowest(self) -> int:
        """The lowest watermark (ms) above MIN of the sources that are not idle, or MAX."""
        counting = (status.watermark for status in self.statuses.values() if not status.idle)
        return min((each for each in counting if each > watermark.MIN), default=watermark.MAX)

    def end(self, statuses: _Statuses, park_ms: int | None) -> None:
        """Make the next reports the last ones of this run, without proposed targets.

        The readers keep blocking the group for `park_ms`, or are finished if that is None.
        """
        self.statuses, self._facts = dict(statuses), _facts_of(statuses)
        self._ended, self._park_ms = True, park_ms

    def is_due(self, after_s: float, now: float, answered_at: float) -> bool:
        """Return whether a report is due, `after_s` after `answered_at` or because of `in_doubt`.

        Times are in monotonic seconds. During a batch, no report is due after `max_batch_s`.
        """
        if now - self._planned_at > self._max_batch_s:
            return False
        return self.in_doubt or now - answered_at >= after_s

    def events(self, epochs: Mapping[int, int]) -> list[ReportedWatermarkEvent]:
        """Return the report to send now for each reader that has an epoch.

        Splits are left out if the coordinator already has them, because sending them again would
        undo the progress that executors have reported since. Facts are left out unless they have
        changed since the last answered report.
        """
        self.in_doubt = False
        self._sent = statuses, facts = self.statuses, self._facts
        there, known = self._answered
        news = {subtask: each for subtask, each in facts.items() if each != known.get(subtask)}
        names_splits = there is not statuses
        return [
            ReportedWatermarkEvent(
                subtask=subtask,
                epoch=epochs[subtask],
                watermark=status.watermark,
                idle=status.idle,
                reach=None if self._ended else status.reach,
                finished=self._ended and self._park_ms is None,
                park_ms=self._park_ms,
                facts=news.get(subtask),
                splits=status.splits if names_splits else {},
            )
            for subtask, status in statuses.items()
            if subtask in epochs
        ]

    def answered(self) -> None:
        """Record that the coordinator has received the reports that `events` returned last."""
        self._answered = self._sent

    def forget_answered(self) -> None:
        """Record that the coordinator has received no report of the new epoch yet."""
        self._answered = {}, {}


def _facts_of(statuses: _Statuses) -> _Facts:
    return {subtask: status.facts for subtask, status in statuses.items()}


def _awaited(statuses: _Statuses) -> list[object]:
    """Return the values for which other readers wait. Other changes are not urgent."""
    return [(subtask, status.watermark, status.reach) for subtask, status in statuses.items()]
