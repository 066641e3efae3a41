"""Rules of valve, multiplexer, aggregation and announcements."""

from rule_breaks.breaking import Break

VALVE, COMBINED, MULTIPLEXER = "flink/valve.py", "flink/combined.py", "flink/multiplexer.py"

COMBINING = (
    # --- the valve
    Break(
        "a channel that comes back is aligned once it reaches what was sent",
        VALVE,
        "in self._aligned or timestamp >= self.last_watermark",
        "in self._aligned or timestamp > self.last_watermark",
        ("test_valve.py",),
    ),
    Break(
        "a channel that comes back at what was sent is aligned at once",
        VALVE,
        "if self._watermarks[channel] >= self.last_watermark:",
        "if self._watermarks[channel] > self.last_watermark:",
        ("test_valve.py",),
    ),
    Break(
        "an idle channel takes no part in the minimum",
        VALVE,
        "        self._aligned.discard(channel)\n",
        "",
        ("test_valve.py",),
    ),
    Break(
        "what is sent rises",
        VALVE,
        "minimum > self.last_watermark",
        "minimum >= self.last_watermark",
        ("test_valve.py",),
    ),
    Break(
        "one of several goes idle: the minimum is taken again only if it held the others",
        VALVE,
        "            if held:\n                self._send_minimum()",
        "            self._send_minimum()",
        ("test_valve.py",),
    ),
    Break(
        "the last one goes idle: the maximum goes out only if it held the others",
        VALVE,
        "if held and self._highest",
        "if self._highest",
        ("test_valve.py",),
    ),
    Break(
        "coming back never sends a watermark",
        VALVE,
        "            self._aligned.set(channel, self._watermarks[channel])\n",
        "            self._aligned.set(channel, self._watermarks[channel])\n            self._send_minimum()\n",
        ("test_valve.py",),
    ),
    Break(
        "an idle channel's watermark is not remembered",
        VALVE,
        "if self.last_status is WatermarkStatus.IDLE or self._idle[channel]:",
        "if self.last_status is WatermarkStatus.IDLE:",
        ("test_valve.py",),
    ),
    Break(
        "the valve wakes only if all of it slept",
        VALVE,
        "        if self.last_status is WatermarkStatus.IDLE:\n            self._send_status",
        "        if True:\n            self._send_status",
        ("test_valve.py",),
    ),
    # --- combining
    Break(
        "all idle: as far as the highest",
        COMBINED,
        "self._maximum() if minimum is None else minimum",
        "self.watermark if minimum is None else minimum",
        ("test_combined.py",),
    ),
    Break(
        "without parts the idle flag stays",
        COMBINED,
        "        if not self._parts:\n            return False\n",
        "        if not self._parts:\n            self.idle = False\n            return False\n",
        ("test_combined.py",),
    ),
    Break("a watermark ends idleness", COMBINED, "        self.set_idle(False)\n", "", ("test_combined.py",)),
    Break(
        "what was removed no longer counts",
        COMBINED,
        "        self._active.discard(part._key)\n",
        "",
        ("test_combined.py",),
    ),
    Break(
        "the highest is forgotten when it is removed",
        COMBINED,
        "        if part.watermark == self._highest:\n            self._highest = None\n",
        "",
        ("test_combined.py",),
    ),
    Break(
        "a new entry is made when a number falls",
        "lowest.py",
        "if bound is None or value < bound:",
        "if bound is None:",
        ("test_lowest.py",),
    ),
    Break(
        "a listener hears of activity each time",
        MULTIPLEXER,
        "        self.part.set_idle(idle)\n        self.listener.on_idle(idle)",
        "        if self.part.idle != idle:\n            self.listener.on_idle(idle)\n        self.part.set_idle(idle)",
        ("test_multiplexer.py",),
    ),
    Break(
        "an immediate watermark combines only above the combined one",
        MULTIPLEXER,
        "if self._output.emit(timestamp) and timestamp > self._multiplexer.watermark:",
        "if self._output.emit(timestamp):",
        ("test_multiplexer.py",),
    ),
    Break(
        "idle follows a watermark that rose",
        MULTIPLEXER,
        "        if self._combined.idle:",
        "        elif self._combined.idle:",
        ("test_multiplexer.py",),
    ),
    Break(
        "unregistering combines nothing",
        MULTIPLEXER,
        "        self._combined.remove(output.part)\n",
        "        self._combined.remove(output.part)\n        self.on_periodic_emit()\n",
        ("test_multiplexer.py",),
    ),
)
