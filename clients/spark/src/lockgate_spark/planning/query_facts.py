"""The reader stats that a run reports to its group besides its watermarks, for monitoring. Only
`retention` asks Kafka for them, and no job is run.

**The event-time rate** is the rise of the reported watermark over the last minute. So it falls to 0
within a minute while the query waits. If batches are longer than a minute, it is measured over the
last batch.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lockgate.watermark import MAX, MIN
from lockgate.wire.events import ReaderFacts
from lockgate_http.group.source_status import SourceStatus
from lockgate_spark.logs.unread import Key, by_source
from lockgate_spark.planning.retention import Retained

_WINDOW_S = 60.0
_APART_S = 1.0  # between two points, so that there are some sixty of them


@dataclass(slots=True)
class WatermarkPace:
    """Measures how fast one watermark rises."""

    _points: deque[tuple[float, int]] = field(default_factory=deque)  # monotonic seconds, watermark

    def seen(self, watermark: int, now: float) -> int | None:
        """Add the value (ms) at the time `now` of a monotonic clock (s), and return the rise in ms
        per second; None if `watermark` is MIN or MAX, or less than a second was measured.
        """
        points = self._points
        if watermark in (MIN, MAX) or (points and watermark < points[-1][1]):
            points.clear()
        if watermark in (MIN, MAX):
            return None
        if not points or now - points[-1][0] >= _APART_S:
            points.append((now, watermark))
        while len(points) > 2 and now - points[1][0] >= _WINDOW_S:
            points.popleft()
        began, first = points[0]
        return None if now - began < _APART_S else round((watermark - first) / (now - began))


class QueryFacts:
    """Collects the reader stats of one run's sources. `ticks` is a monotonic clock, in seconds."""

    def __init__(self, ticks: Callable[[], float]) -> None:
        self._ticks = ticks
        self._paces: dict[int, WatermarkPace] = {}
        self.late: dict[int, int] = {}  # by source, the number of late rows in the run so far

    def added(
        self,
        statuses: Mapping[int, SourceStatus],
        rows_saved: int | None,
        lags: Mapping[Key, int],
        retained: Mapping[int, Retained],
    ) -> dict[int, SourceStatus]:
        """Return `statuses` with the reader stats. `rows_saved`, of the whole query, is added to
        the first source. `lags` are in ms, and `retained` is what `Retention.retained` returns.
        """
        now, first = self._ticks(), min(statuses, default=None)
        most = {i: max(of_source.values()) for i, of_source in by_source(lags).items()}
        return {
            i: replace(
                status,
                facts=ReaderFacts(
                    late_rows=self.late.get(i),
                    rows_saved=rows_saved if i == first else None,
                    retained_until=None if i not in retained else retained[i].until,
                    retention_split=None if i not in retained else retained[i].split,
                    producer_lag_ms=most.get(i),
                    event_time_rate=self._paces.setdefault(i, WatermarkPace()).seen(status.watermark, now),
                ),
            )
            for i, status in statuses.items()
        }
