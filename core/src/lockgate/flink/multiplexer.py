"""The multiplexer, which combines the watermarks of many splits into one output (Flink's
`WatermarkOutputMultiplexer`). So a split that lags limits the source's watermark.

A watermark of an *immediate* output (per-event emission) is combined with the others at once. A
watermark of a *deferred* output (periodic emission) waits for `on_periodic_emit`, so that a round
over a thousand splits combines only once. The rules:

1. `emit_watermark` makes the output active, and reports this to the listener every time. If the
   output's watermark rose, the listener receives it next. If it is also above the combined one, an
   immediate output then combines all outputs.
2. `mark_idle` and `mark_active` are reported to the listener every time. An immediate output then
   always combines all outputs.
3. Combining sends the combined watermark if it rose, then `mark_idle` if all outputs are idle.
   `mark_idle` is sent every time, because the receiver drops repetitions. `mark_active` is never
   sent, because a rising watermark means the same.
4. `register` and `unregister` combine nothing. Without any output, the last combined state remains.
5. The handle of an unregistered output still calls the listener, and may still combine the
   remaining outputs. Its own watermark no longer counts.
"""

from lockgate.errors import UnknownName, WrongState
from lockgate.flink.combined import CombinedWatermarkStatus, PartialWatermark
from lockgate.flink.elements import WatermarkOutput
from lockgate.flink.source_output import WatermarkUpdateListener


class _Output:
    """A handle to the output `name`. If `immediate` is true, each change combines all outputs."""

    __slots__ = ("_immediate", "_multiplexer", "_name", "_part")

    def __init__(
        self, multiplexer: "WatermarkOutputMultiplexer", name: str, part: PartialWatermark, *, immediate: bool
    ) -> None:
        self._multiplexer, self._name, self._part, self._immediate = multiplexer, name, part, immediate

    def emit_watermark(self, timestamp: int) -> None:
        self._set_idle(False)
        if timestamp <= self._part.watermark:
            return
        if self._multiplexer.listener is not None:
            self._multiplexer.listener.update_current_split_watermark(self._name, timestamp)
        self._part.set_watermark(timestamp)
        if self._immediate and timestamp > self._multiplexer.combined.watermark:
            self._multiplexer.on_periodic_emit()

    def mark_idle(self) -> None:
        self._mark(True)

    def mark_active(self) -> None:
        self._mark(False)

    def _mark(self, idle: bool) -> None:
        self._set_idle(idle)
        if self._immediate:
            self._multiplexer.on_periodic_emit()

    def _set_idle(self, idle: bool) -> None:
        self._part.set_idle(idle)
        if self._multiplexer.listener is not None:
            self._multiplexer.listener.update_current_split_idle(self._name, idle)


class WatermarkOutputMultiplexer:
    """A multiplexer that combines registered outputs into `output`. Their changes are reported to
    `listener` (rules 1 and 2), if there is one.
    """

    def __init__(self, output: WatermarkOutput, listener: WatermarkUpdateListener | None = None) -> None:
        self.listener = listener
        self._underlying = output
        self._outputs: dict[str, PartialWatermark] = {}
        self.combined = CombinedWatermarkStatus()

    def partials(self) -> dict[str, tuple[int, bool]]:
        """Return the watermark (ms) of each registered output, and whether it is idle, by name."""
        return {name: (part.watermark, part.idle) for name, part in self._outputs.items()}

    def register(self, name: str) -> None:
        """Add an active output, with a watermark of MIN. Raises `WrongState` for a taken name."""
        if name in self._outputs:
            raise WrongState(f"output {name!r} is registered already: unregister it first")
        self._outputs[name] = self.combined.add()

    def unregister(self, name: str) -> bool:
        """Remove an output. Return whether there was one with this name."""
        part = self._outputs.pop(name, None)
        if part is None:
            return False
        self.combined.remove(part)
        return True

    def immediate(self, name: str) -> WatermarkOutput:
        """Return an output whose watermarks are combined at once. Raises `UnknownName`."""
        return _Output(self, name, self._registered(name), immediate=True)

    def deferred(self, name: str) -> WatermarkOutput:
        """Return an output whose watermarks `on_periodic_emit` combines. Raises `UnknownName`."""
        return _Output(self, name, self._registered(name), immediate=False)

    def on_periodic_emit(self) -> None:
        """Combine the watermarks of all outputs, and pass the result on (rule 3)."""
        if self.combined.update():
            self._underlying.emit_watermark(self.combined.watermark)
        if self.combined.idle:
            self._underlying.mark_idle()

    def _registered(self, name: str) -> PartialWatermark:
        part = self._outputs.get(name)
        if part is None:
            raise UnknownName("output", name, f"registered are {sorted(self._outputs) or 'none'}")
        return part
