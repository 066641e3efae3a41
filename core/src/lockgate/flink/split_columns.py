"""The event-time logic of a source in columns: whole columns of several splits, and a watermark at
each interval.

A reader of columns (Arrow batches, numpy arrays) gets rows of several splits at once, interleaved.
Each row arrived at some time. Row by row, each row goes to the generator of its split, and at each
interval all generators are asked and combined. Here a batch is cut where the interval passes.
Generators that need only the highest time get that time for each piece. All others get every row,
in order. The result is the same, in the same order.

Used by the tests and `make bench-core`, which measures it. Needs the extra `columns`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lockgate.errors import InvalidValue
from lockgate.flink.columns import TimeColumn, event_times
from lockgate.flink.elements import WatermarkOutput
from lockgate.flink.multiplexer import WatermarkOutputMultiplexer
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MIN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ArrivalClock:
    """The clock of the rows' arrival. It shows the time at which the last watermark was due."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def relative_nanos(self) -> int:
        """Now, in nanoseconds."""
        return self.now_ms * 1_000_000


class SplitColumns:
    """Splits with a generator each, combined into `output` every `interval_ms` of arrival time,
    from `start_ms` on.

    Raises `InvalidValue` for an interval of 0 or less, or a split named twice.
    """

    def __init__(
        self,
        splits: Sequence[str],
        strategy: WatermarkStrategy,
        output: WatermarkOutput,
        *,
        start_ms: int,
        interval_ms: int = 200,
    ) -> None:
        if interval_ms <= 0:
            raise InvalidValue("interval_ms", f"must be more than 0, not {interval_ms}")
        if len(set(splits)) != len(splits):
            raise InvalidValue("splits", f"must not be named twice: {', '.join(splits)}")
        self._clock = ArrivalClock(start_ms)
        self._multiplexer = WatermarkOutputMultiplexer(output)
        for split in splits:
            self._multiplexer.register(split)
        self._immediate = [self._multiplexer.immediate(split) for split in splits]
        self._deferred = [self._multiplexer.deferred(split) for split in splits]
        self._generators = [strategy.create_generator(self._clock) for _ in splits]
        self._only_highest_counts = all(generator.only_highest_counts for generator in self._generators)
        self._interval_ms = interval_ms
        self._next_ms = start_ms + interval_ms
        self._last_arrival_ms = start_ms

    def take(self, splits: "NDArray[np.integer]", timestamps: TimeColumn, arrivals: TimeColumn) -> None:
        """Take rows in the order of their arrival: the index of each row's split, its event time,
        and its arrival (ms).

        A watermark that is due at the very ms of a row's arrival is emitted before the row. Raises
        `InvalidValue` for columns of different lengths, a split that does not exist, or arrivals
        that go back; then no row was taken.
        """
        times, came = event_times(timestamps), event_times(arrivals)
        self._check(splits, times, came)
        if not len(came):
            return
        pieces = self._cut(came)
        if self._only_highest_counts:
            self._feed_highest(splits, times, pieces)
        else:
            self._feed_rows(splits, times, pieces)
        self._last_arrival_ms = int(came[-1])

    def advance_to(self, now_ms: int) -> None:
        """Emit the watermarks that are due up to `now_ms`, without a row. Raises `InvalidValue` for
        a time that has passed.
        """
        if now_ms < self._last_arrival_ms:
            raise InvalidValue("now_ms", f"must not lie before {self._last_arrival_ms}, but is {now_ms}")
        while self._next_ms <= now_ms:
            self._emit()
        self._last_arrival_ms = now_ms

    def _check(self, splits: "NDArray[np.integer]", times: "NDArray[np.int64]", came: "NDArray[np.int64]") -> None:
        if not len(splits) == len(times) == len(came):
            raise InvalidValue("columns", f"must be of one length, not {len(splits)}, {len(times)} and {len(came)}")
        if not len(came):
            return
        if splits.dtype.kind not in "iu":
            raise InvalidValue("splits", f"must be integers, the splits' indexes, not {splits.dtype}")
        if int(splits.min()) < 0 or int(splits.max()) >= len(self._generators):
            raise InvalidValue(
                "splits", f"must lie between 0 and {len(self._generators) - 1}, not {splits.min()} to {splits.max()}"
            )
        if int(came[0]) < self._last_arrival_ms or bool((came[1:] < came[:-1]).any()):
            raise InvalidValue("arrivals", f"must not go back, from {self._last_arrival_ms} on")

    def _cut(self, came: "NDArray[np.int64]") -> list[tuple[int, int]]:
        """Pieces (start, end). One watermark is due between each two."""
        import numpy as np

        due = np.arange(self._next_ms, int(came[-1]) + 1, self._interval_ms)
        cuts = np.searchsorted(came, due, side="left").tolist()
        return list(zip([0, *cuts], [*cuts, len(came)], strict=True))

    def _feed_highest(
        self, splits: "NDArray[np.integer]", times: "NDArray[np.int64]", pieces: list[tuple[int, int]]
    ) -> None:
        import numpy as np

        for piece, (start, end) in enumerate(pieces):
            if piece:
                self._emit()
            if start == end:
                continue
            whose, when = splits[start:end], times[start:end]
            highest = np.full(len(self._generators), MIN, dtype=np.int64)
            np.maximum.at(highest, whose, when)
            for split, timestamp in enumerate(highest.tolist()):
                # MIN may be a row's time, or mean that the split has no row in this piece.
                if timestamp != MIN or bool((whose == split).any()):
                    self._generators[split].on_event(None, timestamp, self._immediate[split])

    def _feed_rows(
        self, splits: "NDArray[np.integer]", times: "NDArray[np.int64]", pieces: list[tuple[int, int]]
    ) -> None:
        for piece, (start, end) in enumerate(pieces):
            if piece:
                self._emit()
            for split, timestamp in zip(splits[start:end].tolist(), times[start:end].tolist(), strict=True):
                self._generators[split].on_event(None, timestamp, self._immediate[split])

    def _emit(self) -> None:
        self._clock.now_ms = self._next_ms
        self._next_ms += self._interval_ms
        for generator, output in zip(self._generators, self._deferred, strict=True):
            generator.on_periodic_emit(output)
        self._multiplexer.on_periodic_emit()
