"""The alignment half of Flink's `SourceCoordinator`, exactly: how far each source may read (seeds
001 and 003, part 4.2).

The subtasks of a source report their watermarks. The lowest of them is the source's watermark. The
lowest over the sources of a group is the group's watermark. Each source announces to its subtasks,
at every interval, how far they may read: the group's watermark + *this source's* drift. The rules
that a reader would not guess:

1. A sum beyond 64 bits, on either side, is announced as MAX. (This is not `watermark.add`: MIN +
   drift is a number here.)
2. An announcement goes to each subtask that has ever reported and whose gateway is ready. Before
   the first report nothing is announced.
3. A source enters its group when its own minimum first *changes* from MIN. A silent source, or one
   whose first report is MIN, limits no other source.
4. Sources are known by their operator's name: two of one name overwrite each other. Nothing is ever
   removed. The last report of a failed subtask, or of a closed source, limits the group for ever.
   (lockgate's own groups have leases for this.)
5. Reports may fall, and then the announced maximum falls. Idle and finished subtasks report MAX.
6. A drift of MAX means that alignment is off: a report is then an error.
7. The subtask of a report is not checked. A wrong one is found by the next announcement.

Used by the tests and the conformance replay.
"""

from lockgate.errors import UnknownName, WrongState
from lockgate.flink.aggregator import WatermarkAggregator
from lockgate.watermark import MAX, MIN


class CoordinatorStore:
    """The state that the sources of one job share: a group's watermarks by operator name (Flink's
    `CoordinatorStore`).
    """

    def __init__(self) -> None:
        self.groups: dict[str, WatermarkAggregator[str]] = {}


def max_desired_watermark(group_minimum: int, max_drift_ms: int) -> int:
    """How far a source may read (rule 1)."""
    ceiling = group_minimum + max_drift_ms
    return ceiling if MIN <= ceiling <= MAX else MAX


class SourceAlignment:
    """One source's coordinator, as far as alignment goes. The caller keeps the interval, and calls
    `announce`.
    """

    def __init__(
        self, store: CoordinatorStore, operator_name: str, group: str | None, max_drift_ms: int, parallelism: int
    ) -> None:
        self._store = store
        self._operator_name = operator_name
        self._group = group
        self._max_drift_ms = max_drift_ms
        self._gateways: list[set[int]] = [set() for _ in range(parallelism)]
        self._started = False
        self.combined: WatermarkAggregator[int] = WatermarkAggregator()

    @property
    def enabled(self) -> bool:
        """Whether this source is aligned at all (rule 6)."""
        return self._group is not None and self._max_drift_ms < MAX

    def start(self) -> None:
        """Begins. Before this call no report is allowed and nothing is announced."""
        self._started = True
        if self._group is not None and self.enabled:
            self._store.groups.setdefault(self._group, WatermarkAggregator())

    def attempt_ready(self, subtask: int, attempt: int) -> None:
        """An attempt of the subtask can receive events. Raises `UnknownName`."""
        self._gateway(subtask).add(attempt)

    def attempt_failed(self, subtask: int, attempt: int) -> None:
        """The attempt is gone; its last report stays (rule 4). Raises `UnknownName`."""
        self._gateway(subtask).discard(attempt)

    def subtask_reset(self, subtask: int) -> None:
        """The subtask goes back to a checkpoint. It receives nothing until an attempt is ready.
        Raises `UnknownName`.
        """
        self._gateway(subtask).clear()

    def report(self, subtask: int, watermark: int) -> None:
        """Takes a subtask's watermark (rules 3, 5, 6, 7). Raises `WrongState` before `start`, and
        when this source is not aligned.
        """
        if not self._started:
            raise WrongState("the coordinator has not started yet: call start() first")
        if self._group is None or not self.enabled:
            raise WrongState(f"source {self._operator_name!r} is not aligned: it must not report watermarks")
        combined = self.combined.aggregate(subtask, watermark)
        if combined is not None:
            self._store.groups[self._group].aggregate(self._operator_name, combined)

    def announce(self) -> list[tuple[int, int]]:
        """`(subtask, max desired watermark)` for each subtask that is to receive it. Raises
        `UnknownName` for a report out of range.
        """
        if not self._started or self._group is None or not self.enabled:
            return []
        ceiling = max_desired_watermark(self._store.groups[self._group].aggregated, self._max_drift_ms)
        return [(subtask, ceiling) for subtask in sorted(self.combined.keys()) if self._gateway(subtask)]

    def _gateway(self, subtask: int) -> set[int]:
        if not 0 <= subtask < len(self._gateways):
            raise UnknownName("subtask", subtask, f"this source has subtasks 0 to {len(self._gateways) - 1}")
        return self._gateways[subtask]
