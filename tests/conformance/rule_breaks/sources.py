"""Rules of generators, idleness, the event-time logic of a source and its operator."""

from rule_breaks.breaking import Break

SOURCES = (
    # --- generators and idleness
    Break(
        "an event exactly the delay late is not late",
        "flink/generators.py",
        "self.max_timestamp - self._delay_ms - 1)",
        "self.max_timestamp - self._delay_ms)",
        ("test_generators.py",),
    ),
    Break(
        "before the first event the claim is MIN",
        "flink/generators.py",
        "self.max_timestamp = MIN + self._delay_ms + 1",
        "self.max_timestamp = MIN",
        ("test_generators.py",),
    ),
    Break(
        "idle takes strictly more than the timeout",
        "flink/idleness.py",
        " > self._timeout_nanos",
        " >= self._timeout_nanos",
        ("test_idleness.py",),
    ),
    Break(
        "activity resets the timer",
        "flink/idleness.py",
        "            self._active = False\n            self.start_of_inactivity_nanos = 0\n",
        "            self._active = False\n",
        ("test_idleness.py",),
    ),
    Break(
        "idle is said once a spell",
        "flink/idleness.py",
        "            self.is_idle_now = True\n",
        "",
        ("test_idleness.py",),
    ),
    Break(
        "the first quiet probe starts the timer, not the event",
        "flink/idleness.py",
        "            self._active = False\n            self.start_of_inactivity_nanos = 0\n",
        "            self._active = False\n            self.start_of_inactivity_nanos = self._clock.relative_nanos()\n",
        ("test_idleness.py",),
    ),
    Break(
        "pauses nest", "flink/clocks.py", "        self._pauses += 1", "        self._pauses = 1", ("test_clocks.py",)
    ),
    # --- the event-time logic
    Break(
        "a record goes before its watermark",
        "flink/source_output.py",
        "        self.records.emit_record(Record(value, event_time))\n"
        "        self._generator.on_event(value, event_time, self._on_event)\n",
        "        self._generator.on_event(value, event_time, self._on_event)\n"
        "        self.records.emit_record(Record(value, event_time))\n",
        ("test_outputs.py",),
    ),
    Break(
        "only rising watermarks go on",
        "flink/source_output.py",
        "if timestamp <= self._highest:",
        "if timestamp < self._highest:",
        ("test_outputs.py",),
    ),
    Break(
        "the listener hears before the stream",
        "flink/source_output.py",
        "        self._listener.update_current_effective_watermark(timestamp)\n        self.mark_active()\n",
        "        self.mark_active()\n        self._listener.update_current_effective_watermark(timestamp)\n",
        ("test_outputs.py",),
    ),
    Break(
        "both halves start idle",
        "flink/source_output.py",
        "        self._idle = True\n        self.other",
        "        self._idle = False\n        self.other",
        ("test_outputs.py",),
    ),
    Break(
        "the stream is idle only with both halves",
        "flink/source_output.py",
        "        if self.other._idle:\n",
        "        if True:\n",
        ("test_outputs.py",),
    ),
    Break(
        "an emission wakes its half though the filter drops it",
        "flink/source_output.py",
        "        self._underlying.emit_watermark(timestamp)\n        self._idle = False\n",
        "        self._underlying.emit_watermark(timestamp)\n",
        ("test_outputs.py",),
    ),
    Break(
        "a split made under back pressure stands still",
        "flink/outputs.py",
        "        if self._back_pressured:\n            clock.pause()\n",
        "",
        ("test_outputs.py",),
    ),
    Break(
        "splits are asked before the main output",
        "flink/outputs.py",
        "        self._multiplexer.on_periodic_emit()\n        super().emit_periodic()\n",
        "        super().emit_periodic()\n        self._multiplexer.on_periodic_emit()\n",
        ("test_outputs.py",),
    ),
    # --- the source operator
    Break(
        "a split exactly at the maximum goes on",
        "flink/source/pausing.py",
        "if sampler.oldest > maximum}",
        "if sampler.oldest >= maximum}",
        ("test_source_pausing.py", "test_source_operator.py"),
    ),
    Break(
        "an idle split is left alone",
        "flink/source/pausing.py",
        "self.samplers.keys() - self.idle",
        "self.samplers.keys() - set()",
        ("test_source_pausing.py",),
    ),
    Break(
        "samples start at MIN", "flink/source/pausing.py", "deque([MIN] *", "deque([0] *", ("test_source_pausing.py",)
    ),
    Break(
        "a finished split is forgotten whole (our deviation)",
        "flink/source/pausing.py",
        "        self.paused.discard(split_id)\n",
        "",
        ("test_source_operator.py",),
    ),
    Break(
        "a source exactly at the maximum goes on",
        "flink/source/operator.py",
        "self.watermark.oldest > self.max_desired_watermark",
        "self.watermark.oldest >= self.max_desired_watermark",
        ("test_source_operator.py",),
    ),
    Break(
        "the latest watermark is reported, not the oldest sample",
        "flink/source/operator.py",
        "MAX if self.idle else self.watermark.latest",
        "MAX if self.idle else self.watermark.oldest",
        ("test_source_operator.py",),
    ),
    Break(
        "an idle source reports MAX",
        "flink/source/operator.py",
        "MAX if self.idle else self.watermark.latest",
        "self.watermark.latest",
        ("test_source_operator.py",),
    ),
    Break(
        "nothing is reported before the first watermark",
        "flink/source/operator.py",
        "if self.watermark.latest != MIN:",
        "if True:",
        ("test_source_operator.py",),
    ),
    Break(
        "a waiting source does not grow idle",
        "flink/source/operator.py",
        "            if clock is not None:\n                clock.pause()\n",
        "",
        ("test_source_operator.py",),
    ),
    Break(
        "pauses and resumes are told before the report",
        "flink/source/operator.py",
        "        self.check_split_watermark_alignment()\n        if self.watermark.latest",
        "        if self.watermark.latest",
        ("test_source_operator.py",),
    ),
)
