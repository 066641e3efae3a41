"""The multiplexer: the watermarks of many splits into one (Flink's `WatermarkOutputMultiplexer`).

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
4. `register` and `unregister` combine nothing. Without any output the last combined state remains:
   after all were idle, it is still idle.
5. The handle of an unregistered output still tells its listener, and may still cause a combination.
   Its value no longer counts.

Used by the event-time logic of a source (`lockgate.flink.outputs`), one multiplexer for its splits.
"""

from typing import Protocol

from lockgate.errors import UnknownName, WrongState
from lockgate.flink.combined import CombinedWatermarkStatus, PartialWatermark
from lockgate.flink.elements import WatermarkOutput


class SplitListener(Protocol):
    """Receives the watermarks and the idleness of a single output."""

    def on_watermark(self, timestamp: int) -> None:
        """Handle a rise of the output's own watermark."""

    def on_idle(self, idle: bool) -> None:
        """Handle an output that was marked idle or active. Called each time, not only on
        changes.
        """


class Unheard:
    """A listener that does nothing."""

    def on_watermark(self, timestamp: int) -> None:
        """Do nothing."""

    def on_idle(self, idle: bool) -> None:
        """Do nothing."""


class _Output:
    """One registered output: its part of the combination and its listener."""

    __slots__ = ("listener", "part")

    def __init__(self, part: PartialWatermark, listener: SplitListener) -> None:
        self.part = part
        self.listener = listener

    def emit(self, timestamp: int) -> bool:
        self.set_idle(False)
        if timestamp <= self.part.watermark:
            return False
        self.listener.on_watermark(timestamp)
        return self.part.set_watermark(timestamp)

    def set_idle(self, idle: bool) -> None:
        self.part.set_idle(idle)
        self.listener.on_idle(idle)


class _Immediate:
    __slots__ = ("_multiplexer", "_output")

    def __init__(self, multiplexer: "WatermarkOutputMultiplexer", output: _Output) -> None:
        self._multiplexer = multiplexer
        self._output = output

    def emit_watermark(self, timestamp: int) -> None:
        if self._output.emit(timestamp) and timestamp > self._multiplexer.watermark:
            self._multiplexer.on_periodic_emit()

    def mark_idle(self) -> None:
        self._output.set_idle(True)
        self._multiplexer.on_periodic_emit()

    def mark_active(self) -> None:
        self._output.set_idle(False)
        self._multiplexer.on_periodic_emit()


class _Deferred:
    __slots__ = ("_output",)

    def __init__(self, output: _Output) -> None:
        self._output = output

    def emit_watermark(self, timestamp: int) -> None:
        self._output.emit(timestamp)

    def mark_idle(self) -> None:
        self._output.set_idle(True)

    def mark_active(self) -> None:
        self._output.set_idle(False)


class WatermarkOutputMultiplexer:
    """Registered outputs, combined into `output`."""

    def __init__(self, output: WatermarkOutput) -> None:
        self._underlying = output
        self._outputs: dict[str, _Output] = {}
        self._combined = CombinedWatermarkStatus()

    @property
    def watermark(self) -> int:
        """The combined watermark."""
        return self._combined.watermark

    @property
    def idle(self) -> bool:
        """Return whether all outputs were idle when they were last combined."""
        return self._combined.idle

    def partials(self) -> dict[str, tuple[int, bool]]:
        """Watermark and idleness of each registered output."""
        return {name: (output.part.watermark, output.part.idle) for name, output in self._outputs.items()}

    def register(self, name: str, listener: SplitListener | None = None) -> None:
        """Add an output: active, at MIN, so that the combined watermark waits for it. Raises
        `WrongState` if the name is taken.
        """
        if name in self._outputs:
            raise WrongState(f"output {name!r} is registered already: unregister it first")
        self._outputs[name] = _Output(self._combined.add(), listener or Unheard())

    def unregister(self, name: str) -> bool:
        """Remove an output. Returns False if there is none of this name."""
        output = self._outputs.pop(name, None)
        if output is None:
            return False
        self._combined.remove(output.part)
        return True

    def immediate(self, name: str) -> WatermarkOutput:
        """Return a handle whose watermarks are combined at once. Raises `UnknownName`."""
        return _Immediate(self, self._registered(name))

    def deferred(self, name: str) -> WatermarkOutput:
        """Return a handle whose watermarks wait for `on_periodic_emit`. Raises `UnknownName`."""
        return _Deferred(self._registered(name))

    def on_periodic_emit(self) -> None:
        """Combine the watermarks of all outputs, and passes the result on."""
        if self._combined.update():
            self._underlying.emit_watermark(self._combined.watermark)
        if self._combined.idle:
            self._underlying.mark_idle()

    def _registered(self, name: str) -> _Output:
        output = self._outputs.get(name)
        if output is None:
            raise UnknownName("output", name, f"registered are {sorted(self._outputs) or 'none'}")
        return output
