"""The ceiling of one query, and the rule by which the query accepts the events of its group.

The ceiling is the `max_desired_watermark` of the last event that the query accepted. It is MIN
before the first answer, and while that event says that an operator has paused the query's source.
An event is either the answer to one of the query's own reports, or *news*. News is an event that
answered a report of another query of this process, or that came by the group's event stream.

An answer is accepted, unless news was accepted after the report was sent. Such an answer is
accepted only if its revision is as high and it lowers the ceiling: a failover of the
coordinator's store may have lost the answer's revision, and the news may take readers into
account that the answer does not. News is ignored before the first answer, and if its revision is
not above that of the last accepted event. All other news is accepted if it does not raise the
ceiling. News that raises the ceiling can be wrong in two ways:

* It was computed without this query, because the query's lease had ended, the coordinator had lost
  its memory, or the clock of the coordinator's store had jumped.
* It was computed without another query, whose lease had ended while an outage kept all readers from
  reporting. The first report after the outage gives that lease back, and then the ceiling falls
  again (`lockgate.group.leases`).

So news that raises the ceiling is accepted only under three conditions:

* The query's last answered report is younger than a third of a lease. The coordinator does not
  treat a shorter silence of all readers as an outage.
* The news has the `config_version` of the last answer. If the group was deleted and created again,
  it has another one.
* The `group_watermark` of the news is not above the lowest watermark in the query's last report. It
  could not be higher if the query had been included.

If news that is not ignored breaks a condition, the query reports at once and takes its ceiling from
the answer. It does so even for news that it has accepted because the news does not raise the
ceiling. The conditions do not reveal that an operator has evicted a reader, but the answer to the
reader's next report does.
"""

from dataclasses import dataclass

from lockgate import watermark
from lockgate.wire.events import SourcePause
from lockgate.wire.events import WatermarkAlignmentEvent as Event

_NEVER = -1e9


@dataclass(slots=True)
class Ceiling:
    """The ceiling of one query.

    Attributes:
        source: The query's name in the group.
        event: The last event that was accepted, or None.
        version: The `config_version` of the last answer.
        answered_at: The time (monotonic seconds) just before the last answered report was sent. The
            query's lease lasts for at least `lease_ms` from then.
    """

    source: str
    event: Event | None = None
    version: int | None = None
    answered_at: float = _NEVER
    _news: Event | None = None  # that came since the last report was sent
    _lowest: int = watermark.MAX  # that the query has sent of a reader that counts

    @property
    def value(self) -> int:
        """The ceiling in ms. It is MIN before the first answer and while the query is paused."""
        return watermark.MIN if self.event is None else self._told_by(self.event)

    @property
    def paused(self) -> SourcePause | None:
        """The operator's pause of the query, or None if it is not paused."""
        return None if self.event is None else self.event.pause_of(self.source)

    def asks(self, lowest: int = watermark.MAX) -> None:
        """Record that a report with this lowest watermark (`Reporting.lowest`) is being sent."""
        self._news, self._lowest = None, lowest

    def answered(self, event: Event, asked_at: float) -> None:
        """Accept `event`, the answer to a report sent after `asked_at` (monotonic seconds).

        If news was accepted since then, keep it instead if its revision is higher, or if `event`
        does not lower the ceiling.
        """
        news = self._news
        keeps = news is not None and (news.revision > event.revision or self._told_by(event) >= self._told_by(news))
        self.event = news if keeps else event
        self.version, self.answered_at = event.config_version, asked_at

    def on_event(self, event: Event, now: float, tolerance_s: float) -> bool:
        """Accept or ignore the news `event`, and return whether the query has to report at once.

        It has to if `event` breaks one of the three conditions in the module's docstring. `now` is
        in monotonic seconds. `tolerance_s` is the age limit (s) in the first condition.
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
