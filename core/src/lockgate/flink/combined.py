"""The combined watermark and idleness of several parts, such as splits or inputs (Flink's
`CombinedWatermarkStatus` and `IndexedCombinedWatermarkStatus`).

* The combined watermark is the minimum over the active parts, and only rises.
* When all parts are idle, so is the combined status. The combined watermark is then the maximum
  over all parts, since there is no part to wait for.
* Without parts, an update changes neither the watermark nor the idleness.
* A part that becomes active again while it is behind the others counts at once, unlike in
  `lockgate.flink.valve`. It cannot lower the combined watermark.

With n parts, a change costs O(log n). Only the removal of the highest part scans all others.
"""

from lockgate.errors import InvalidValue, UnknownName
from lockgate.lowest import Lowest
from lockgate.watermark import MIN


class PartialWatermark:
    """One part of a combined watermark. The part's own watermark only rises."""

    __slots__ = ("_combined", "_key", "idle", "watermark")

    def __init__(self, combined: "CombinedWatermarkStatus", key: int) -> None:
        self._combined = combined
        self._key = key
        self.watermark = MIN
        self.idle = False

    def set_watermark(self, timestamp: int) -> bool:
        """Make the part active, and raise its watermark (ms). Return whether it rose."""
        self.set_idle(False)
        if timestamp <= self.watermark:
            return False
        self.watermark = timestamp
        self._combined._rose(self._key, timestamp)
        return True

    def set_idle(self, idle: bool) -> None:
        if self.idle != idle:
            self.idle = idle
            self._combined._toggled(self._key, self)


class CombinedWatermarkStatus:
    """The combined watermark and idleness of parts that come and go, as of the last `update`."""

    def __init__(self) -> None:
        self._parts: dict[int, PartialWatermark] = {}
        self._active = Lowest[int]()
        self._highest: int | None = MIN
        self._next_key = 0
        self.watermark = MIN
        self.idle = False

    def add(self) -> PartialWatermark:
        """Add and return an active part. Its watermark is MIN, so the combined watermark waits for
        this part.
        """
        part = PartialWatermark(self, self._next_key)
        self._parts[self._next_key] = part
        self._active.set(self._next_key, MIN)
        self._next_key += 1
        return part

    def remove(self, part: PartialWatermark) -> None:
        """Remove a part. Later changes to the part do not affect the combined status."""
        self._parts.pop(part._key, None)
        self._active.discard(part._key)
        if part.watermark == self._highest:
            self._highest = None

    def update(self) -> bool:
        """Set `watermark` and `idle` from the parts. Return whether `watermark` rose."""
        if not self._parts:
            return False
        minimum = self._active.lowest()
        self.idle = minimum is None
        candidate = self._maximum() if minimum is None else minimum
        if candidate <= self.watermark:
            return False
        self.watermark = candidate
        return True

    def _maximum(self) -> int:
        if self._highest is None:
            self._highest = max(part.watermark for part in self._parts.values())
        return self._highest

    def _rose(self, key: int, timestamp: int) -> None:
        if key in self._parts:
            self._active.set(key, timestamp)
            if self._highest is not None:
                self._highest = max(self._highest, timestamp)

    def _toggled(self, key: int, part: PartialWatermark) -> None:
        if key not in self._parts:
            return
        if part.idle:
            self._active.discard(key)
        else:
            self._active.set(key, part.watermark)


class IndexedCombinedWatermarkStatus(CombinedWatermarkStatus):
    """The combined watermark and idleness of an operator with a fixed number of inputs. Each change
    of an input updates both. Raises `InvalidValue` if `inputs` is negative. Methods raise
    `UnknownName` for an unknown input.
    """

    def __init__(self, inputs: int) -> None:
        if inputs < 0:
            raise InvalidValue("inputs", f"must be 0 or more, not {inputs}")
        super().__init__()
        self._inputs = [self.add() for _ in range(inputs)]

    def update_watermark(self, index: int, timestamp: int) -> bool:
        """Make input `index` active, and set its watermark (ms). Return whether the combined
        watermark rose.
        """
        self._input(index).set_watermark(timestamp)
        return self.update()

    def update_status(self, index: int, idle: bool) -> bool:
        """Make input `index` idle or active. Return whether the combined watermark rose."""
        self._input(index).set_idle(idle)
        return self.update()

    def _input(self, index: int) -> PartialWatermark:
        if not 0 <= index < len(self._inputs):
            raise UnknownName("input", index, f"this operator has inputs 0 to {len(self._inputs) - 1}")
        return self._inputs[index]
