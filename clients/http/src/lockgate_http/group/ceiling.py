"""The ceiling of one query, and the rule by which it accepts the events of its group.

The ceiling is the `max_desired_watermark` of the newest event that counts, by revision. It is MIN
before the first answer, and while that event says that an operator has paused the query's source.
An event is either the answer to one of the query's own reports, or *news*. News is an event that
answered a report of another query of this process, or that came by the group's event stream.

News that lowers the ceiling always counts. News that raises it may have been computed without this
query, because its lease had ended, the coordinator had lost its memory, or the clock of the
coordinator's store had jumped. It may also have been computed without another query, whose lease
ended in a silence of all readers: the first report after the silence gives that lease back. So such
news counts only

* while the last answered report is younger than a third of a lease: a silence of all readers that
  is no longer is no outage (`lockgate.group.leases`),
* if it has the `config_version` of that answer: a group that is created again has another one, and
* if its `group_watermark` is not above the lowest watermark that the query has sent: the watermark
  of a group that includes this query cannot be higher.

After any other news the query reports at once, and takes its ceiling from the answer. (If an
operator evicts a reader, the answer to the reader's next report shows this.)
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.wire.events import SourcePause
from lockgate.wire.events import WatermarkAlignmentEvent as Event

_NEVER = -1e9


@dataclass(slots=True)
class Ceiling:
    """The answers that one query has received. `source` is the query's name in the group, `event`
    is the newest event that counts, and `version` is the `config_version` of the last answer.
    `answered_at` (monotonic seconds) is the time at which the last answered report was sent. The
    lease began then or later.
    """

    source: str
    event: Event | None = None
    version: int | None = None
    answered_at: float = _NEVER
    _news: Event | None = None  # that came since the last report was sent
    _lowest: int = watermark.MAX  # that the query has sent of a reader that counts

    @property
    def value(self) -> int:
        """The ceiling in ms, or MIN before the first answer."""
        return watermark.MIN if self.event is None else self._told_by(self.event)

    @property
    def paused(self) -> SourcePause | None:
        """The operator's pause of the query, or None if it is not paused."""
        return None if self.event is None else self.event.pause_of(self.source)

    def asks(self, lowest: int = watermark.MAX) -> None:
        """Record that a report is being sent, so that its answer does not replace newer news that
        arrives first. `lowest` is the lowest watermark (ms) in the report, without those of idle
        readers.
        """
        self._news, self._lowest = None, lowest

    def answered(self, event: Event, asked_at: float) -> None:
        """Apply `event`, the answer to a report that was sent after `asked_at` (monotonic seconds).
        If newer news has arrived since then, its ceiling stays.
        """
        newer = self._news is not None and self._news.revision > event.revision
        self.event = self._news if newer else event
        self.version, self.answered_at = event.config_version, asked_at

    def on_event(self, event: Event, now: float, tolerance_s: float) -> bool:
        """Apply the news `event` if it counts. Return whether the query has to report at once,
        because it cannot rely on the news. `now` is in monotonic seconds. `tolerance_s` is how old
        the last answered report may be.
        """
        if self.event is None or event.revision <= self.event.revision:
            return False
        counted = now - self.answered_at < tolerance_s and event.group_watermark <= self._lowest
        trusted = counted and event.config_version is not None and event.config_version == self.version
        if trusted or self._told_by(event) <= self.value:
            self.event = self._news = event
        return not trusted

    def _told_by(self, event: Event) -> int:
        return event.max_desired_watermark if event.pause_of(self.source) is None else watermark.MIN
