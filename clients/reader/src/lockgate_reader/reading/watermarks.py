"""The watermark of one partition, from the user's strategy and from Kafka's answers about its end.

A watermark generator gets each record once it has been returned, and the first record above the
read limit while that waits, or the watermark would never cross a gap in event time. The watermark
is then capped below this record.

A lack of records alone does not raise the watermark. A partition is silent only while Kafka
confirms that it was read to its end (`ends`). Its watermark then follows the wall clock at the
distance of `idle_timeout`, so that timeout never makes records late. Without an idle timeout, the
other partitions wait for a silent one, as in Flink, unless none of its records had an event time.
"""

from typing import Any

from lockgate.flink.elements import NO_TIMESTAMP
from lockgate.flink.strategy import WatermarkStrategy
from lockgate.watermark import MAX, MIN
from lockgate_reader import clock
from lockgate_reader.reading.records import FetchedRecords


class SplitWatermark:
    """The watermark of one split, which receives the output of its generator. `value` (ms) never
    falls, and is MIN at first. Other splits do not wait for an `idle` one.
    """

    __slots__ = ("_cap", "_generator", "_next", "_stamped", "idle", "value")

    def __init__(self, strategy: WatermarkStrategy) -> None:
        self._generator = strategy.make_generator(clock)  # without its idle timeout
        self.value, self.idle = MIN, False
        self._cap = MAX
        self._next: Any = None
        self._stamped: bool | None = None  # whether a record had an event time; None: no record yet

    def returned(self, records: FetchedRecords, start: int, end: int) -> None:
        self._cap, highest = MAX, records.latest(start, end)
        if highest == NO_TIMESTAMP:
            self._stamped = bool(self._stamped)
        else:
            self._stamped, self.idle = True, False
            if self._generator.only_highest_counts:
                self._generator.on_event(None, highest, self)
            else:
                for message, at in zip(records.messages[start:end], records.times[start:end], strict=True):
                    if message is not self._next and at != NO_TIMESTAMP:
                        self._generator.on_event(message, at, self)
        self._next = None
        self.emit()

    def waits(self, message: Any, at: int) -> None:
        """Pass the next record, which is above the read limit, to the generator, but at most once.
        Cap the watermark below its event time `at` (ms).
        """
        if message is not self._next:
            self._stamped, self.idle = True, False
            self._next, self._cap = message, at - 1
            self._generator.on_event(message, at, self)
            self.emit()

    def silent(self, horizon: int | None) -> None:
        """Raise the watermark to `horizon` (ms), now that the partition was read to its end. If
        `horizon` is None, mark the split as idle if none of its records had an event time.
        """
        if horizon is not None:
            self.value = max(self.value, horizon)
        elif self._stamped is False:
            self.idle = True

    def emit(self) -> None:
        self._generator.on_periodic_emit(self)

    def emit_watermark(self, timestamp: int) -> None:
        timestamp = min(timestamp, self._cap)
        if timestamp > self.value:
            self.value, self.idle = timestamp, False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False
