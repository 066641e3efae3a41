"""The event-time rate that a reader reports to its group."""

from collections import deque
from dataclasses import dataclass, field

from lockgate.watermark import MAX, MIN

_WINDOW_S = 60.0
_APART_S = 1.0  # between two points, so that there are some sixty of them


@dataclass(slots=True)
class WatermarkPace:
    """Measures how fast one watermark has risen over the last minute, so that the figure falls to 0
    within a minute while a query waits. If batches are longer, it is that of the last batch.
    """

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
