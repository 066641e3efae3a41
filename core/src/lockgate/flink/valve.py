"""The valve, which combines many input channels into one watermark and one status (Flink's
`StatusWatermarkValve`).

An operator behind a shuffle has one channel from each sender. The operator's event time must not
pass that of the slowest channel, so it is the *minimum* over the channels. An idle channel must not
hold back the operator. A channel that becomes active again while it is behind the others must
neither block the operator nor lower its event time. The rules, as in Flink 2.3:

1. A watermark counts if the valve and the channel are active, and if it is above all earlier
   watermarks of the channel. Any other watermark is dropped.
2. Only *aligned* channels take part in the minimum. An idle channel is not aligned. A channel that
   was idle is aligned again once it has reached the watermark that the valve sent last (equal is
   enough).
3. The valve sends the minimum over its aligned channels when that is above the watermark that it
   sent last. Without an aligned channel it sends nothing.
4. If a channel becomes idle while others are active, the minimum is taken again only if that
   channel's watermark is exactly the one that the valve sent last. Only then may the channel have
   held back the others.
5. When the last active channel becomes idle, IDLE is sent. If that channel's watermark is the one
   that the valve sent last, the maximum over all channels is sent before, since there is no channel
   to wait for.
6. When a channel becomes active, this alone never sends a watermark. ACTIVE is sent if the whole
   valve was idle.

With n channels, a watermark costs O(log n), because the watermark of a channel never falls.
"""

from lockgate.errors import InvalidValue, UnknownName
from lockgate.flink.elements import DataOutput, Watermark, WatermarkStatus
from lockgate.lowest import Lowest
from lockgate.watermark import MIN


class StatusWatermarkValve:
    """A valve that combines a number of input `channels` into `output`. Raises `InvalidValue` if
    that number is negative. Methods raise `UnknownName` for an unknown channel.
    """

    def __init__(self, channels: int, output: DataOutput) -> None:
        if channels < 0:
            raise InvalidValue("channels", f"must be 0 or more, not {channels}")
        self._output = output
        self._watermarks = [MIN] * channels
        self._idle = [False] * channels
        self._active_channels = channels
        self._highest = MIN
        self._aligned = Lowest[int]()
        for channel in range(channels):
            self._aligned.set(channel, MIN)
        self.last_watermark = MIN
        self.last_status = WatermarkStatus.ACTIVE

    def watermark_of(self, channel: int) -> int:
        return self._watermarks[self._checked(channel)]

    def is_idle(self, channel: int) -> bool:
        return self._idle[self._checked(channel)]

    def is_aligned(self, channel: int) -> bool:
        """Return whether the channel takes part in the minimum (rule 2)."""
        return self._checked(channel) in self._aligned

    def input_watermark(self, channel: int, timestamp: int) -> None:
        """Take a watermark (ms) of `channel` (rules 1 to 3)."""
        self._checked(channel)
        if self.last_status is WatermarkStatus.IDLE or self._idle[channel]:
            return
        if timestamp <= self._watermarks[channel]:
            return
        self._watermarks[channel] = timestamp
        self._highest = max(self._highest, timestamp)
        if channel in self._aligned or timestamp >= self.last_watermark:
            self._aligned.set(channel, timestamp)
        self._send_minimum()

    def input_status(self, channel: int, status: WatermarkStatus) -> None:
        """Take the status of `channel` (rules 4 to 6). A repeated status changes nothing."""
        idle = status is WatermarkStatus.IDLE
        if self._idle[self._checked(channel)] == idle:
            return
        self._idle[channel] = idle
        if idle:
            self._became_idle(channel)
        else:
            self._became_active(channel)

    def _became_idle(self, channel: int) -> None:
        self._active_channels -= 1
        self._aligned.discard(channel)
        held = self._watermarks[channel] == self.last_watermark
        if self._active_channels:
            if held:
                self._send_minimum()
            return
        if held and self._highest > self.last_watermark:
            self._send(self._highest)
        self._send_status(WatermarkStatus.IDLE)

    def _became_active(self, channel: int) -> None:
        self._active_channels += 1
        if self._watermarks[channel] >= self.last_watermark:
            self._aligned.set(channel, self._watermarks[channel])
        if self.last_status is WatermarkStatus.IDLE:
            self._send_status(WatermarkStatus.ACTIVE)

    def _send_minimum(self) -> None:
        minimum = self._aligned.lowest()
        if minimum is not None and minimum > self.last_watermark:
            self._send(minimum)

    def _send(self, watermark: int) -> None:
        self.last_watermark = watermark
        self._output.emit(Watermark(watermark))

    def _send_status(self, status: WatermarkStatus) -> None:
        self.last_status = status
        self._output.emit(status)

    def _checked(self, channel: int) -> int:
        if not 0 <= channel < len(self._watermarks):
            raise UnknownName("channel", channel, f"this valve has channels 0 to {len(self._watermarks) - 1}")
        return channel
