"""The multiplexer combines the watermarks of many splits (Flink's `WatermarkOutputMultiplexer`).

Each split has a generator of its own. So a split that lags limits the source's watermark, and the
other splits do not overtake it. Their watermarks are combined here (see `lockgate.flink.combined`)
and go on to one output below.

An output has two forms. A watermark of an *immediate* output (per-event emission) is combined at
once. A watermark of a *deferred* output (periodic emission) waits for `on_periodic_emit`, so that a
round over a thousand splits combines once. The rules:

1. `emit_watermark` makes the output active, and tells its listener so every time. If the watermark
   rose, the listener gets it next. An immediate output then combines, if the watermark rose and is
   above the combined one.
2. `mark_idle` and `mark_active` tell the listener every time. An immediate output always combines.
3. Combining sends the combined watermark if it rose, then `mark_idle` if all outputs are idle. It
   does so on every combination, since the receiver filters. It never sends `mark_active`: a rising
   watermark means the same.
4. `register` and `unregister` combine nothing. Without any output the last combined state remains,
   so it stays idle if all were idle.
5. The handle of an unregistered output still tells its listener, and may still cause a combination.
   Its value no longer counts.
"""

from typing import Protocol

from lockgate.errors import UnknownName, WrongState
from lockgate.flink.combined import CombinedWatermarkStatus, PartialWatermark
from lockgate.flink.elements import WatermarkOutput


class SplitListener(Protocol):
    """A listener for the watermarks and the idleness of a single output."""

    def on_watermark(self, timestamp: int) -> None:
        """Handle a rise of the output's own watermark."""

    def on_idle(self, idle: bool) -> None:
        """Handle an output that was marked idle or active, even if this was no change."""


class _Output:
    """A way to write to a registered output, its `part` of the combination. `combined_at_once` is
    the multiplexer for an immediate output, None for a deferred one.
    """

    __slots__ = ("_combined_at_once", "_listener", "_part")

    def __init__(
        self,
        part: PartialWatermark,
        listener: SplitListener | None,
        combined_at_once: "WatermarkOutputMultiplexer | None",
    ) -> None:
        self._part = part
        self._listener = listener
        self._combined_at_once = combined_at_once

    def emit_watermark(self, timestamp: int) -> None:
        self._set_idle(False)
        if timestamp <= self._part.watermark:
            return
        if self._listener is not None:
            self._listener.on_watermark(timestamp)
        self._part.set_watermark(timestamp)
        if self._combined_at_once is not None and timestamp > self._combined_at_once.watermark:
            self._combined_at_once.on_periodic_emit()

    def mark_idle(self) -> None:
        self._mark(True)

    def mark_active(self) -> None:
        self._mark(False)

    def _mark(self, idle: bool) -> None:
        self._set_idle(idle)
        if self._combined_at_once is not None:
            self._combined_at_once.on_periodic_emit()

    def _set_idle(self, idle: bool) -> None:
        self._part.set_idle(idle)
        if self._listener is not None:
            self._listener.on_idle(idle)


class WatermarkOutputMultiplexer:
    """A multiplexer that combines registered outputs into `output`."""

    def __init__(self, output: WatermarkOutput) -> None:
        self._underlying = output
        self._outputs: dict[str, tuple[PartialWatermark, SplitListener | None]] = {}
        self._combined = CombinedWatermarkStatus()

    @property
    def watermark(self) -> int:
        return self._combined.watermark

    @property
    def idle(self) -> bool:
        """Return whether all outputs were idle when they were last combined."""
        return self._combined.idle

    def partials(self) -> dict[str, tuple[int, bool]]:
        """Return the watermark and the idleness of each registered output, by name."""
        return {name: (part.watermark, part.idle) for name, (part, _) in self._outputs.items()}

    def register(self, name: str, listener: SplitListener | None = None) -> None:
        """Add an output, which is active and at MIN, so that the combined watermark waits for it.
        Raises `WrongState` if the name is taken.
        """
        if name in self._outputs:
            raise WrongState(f"output {name!r} is registered already: unregister it first")
        self._outputs[name] = self._combined.add(), listener

    def unregister(self, name: str) -> bool:
        """Remove an output. Returns False if there is none with this name."""
        output = self._outputs.pop(name, None)
        if output is None:
            return False
        self._combined.remove(output[0])
        return True

    def immediate(self, name: str) -> WatermarkOutput:
        """Return a handle whose watermarks are combined at once. Raises `UnknownName`."""
        return _Output(*self._registered(name), self)

    def deferred(self, name: str) -> WatermarkOutput:
        """Return a handle whose watermarks wait for `on_periodic_emit`. Raises `UnknownName`."""
        return _Output(*self._registered(name), None)

    def on_periodic_emit(self) -> None:
        """Combine the watermarks of all outputs, and pass the result on."""
        if self._combined.update():
            self._underlying.emit_watermark(self._combined.watermark)
        if self._combined.idle:
            self._underlying.mark_idle()

    def _registered(self, name: str) -> tuple[PartialWatermark, SplitListener | None]:
        output = self._outputs.get(name)
        if output is None:
            raise UnknownName("output", name, f"registered are {sorted(self._outputs) or 'none'}")
        return output
