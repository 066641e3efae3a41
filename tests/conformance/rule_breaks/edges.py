"""Rules of Kafka's split, SQL, columns and the network."""

from rule_breaks.breaking import Break

EDGES = (
    # --- Kafka's split
    Break(
        "EARLIEST is no place to stop",
        "splits.py",
        "_STOPPING_WORDS = (LATEST_OFFSET, ",
        "_STOPPING_WORDS = (EARLIEST_OFFSET, LATEST_OFFSET, ",
        ("test_splits.py",),
    ),
    Break(
        "a snapshot starts at the next record",
        "splits.py",
        "split.partition, self.current_offset,",
        "split.partition, split.starting_offset,",
        ("test_splits.py",),
    ),
    Break("numbers are big endian", "split_serializer.py", '">iqq"', '"<iqq"', ("test_split_serializer.py",)),
    Break("U+0000 takes two bytes", "split_serializer.py", "if 0 < unit < 0x80:", "if unit < 0x80:", ("test_split_serializer.py",)),
    Break(
        "short bytes are refused",
        "split_serializer.py",
        "if len(part) < length:",
        "if len(part) < length - 1:",
        ("test_split_serializer.py",),
    ),
    # --- SQL
    Break(
        "a row emits when it is more than an interval above",
        "sql/watermark_assigner.py",
        "self._current - self._last > self._interval_ms",
        "self._current - self._last >= self._interval_ms",
        ("test_sql_assigners.py",),
    ),
    Break(
        "SQL is idle at the timeout",
        "sql/watermark_assigner.py",
        "self._idle_timeout_ms <= now",
        "self._idle_timeout_ms < now",
        ("test_sql_assigners.py",),
    ),
    Break(
        "MAX goes on once",
        "sql/watermark_assigner.py",
        "            self._current = MAX\n            self._output",
        "            self._output",
        ("test_sql_assigners.py",),
    ),
    Break(
        "SQL's watermarks start at 0",
        "sql/watermark_assigner.py",
        "        self._last = 0\n",
        "        self._last = -(2**63)\n",
        ("test_sql_assigners.py",),
    ),
    Break(
        "SQL's arithmetic wraps around",
        "sql/text.py",
        "wrapped(timestamp - self._delay_ms)",
        "timestamp - self._delay_ms",
        ("test_sql_strategies.py",),
    ),
    Break(
        "a window that just ended is over",
        "sql/minibatch_assigner.py",
        "end if end > self._current",
        "end if end >= self._current",
        ("test_sql_assigners.py",),
    ),
    # --- columns
    Break(
        "times are cut off below",
        "columns.py",
        "return raw // (_PER_MILLI[unit] // count)",
        "return -(-raw // (_PER_MILLI[unit] // count))",
        ("test_columns.py",),
    ),
    Break("a watermark that is due comes before the row", "split_columns.py", 'side="left"', 'side="right"', ("test_split_columns.py",)),
    Break(
        "MIN is a time too",
        "split_columns.py",
        "if timestamp != MIN or bool((whose == split).any()):",
        "if timestamp != MIN:",
        ("test_split_columns.py",),
    ),
    # --- the network
    Break(
        "timers fire before the watermark goes on",
        "propagation/operators.py",
        "        self.timers.advance(watermark)\n        self.output.emit_watermark(watermark)\n",
        "        self.output.emit_watermark(watermark)\n        self.timers.advance(watermark)\n",
        ("test_network.py",),
    ),
    Break(
        "a timer exactly at the watermark is due",
        "propagation/timers.py",
        ".timestamp <= watermark:",
        ".timestamp < watermark:",
        ("test_event_timers.py",),
    ),
    Break("a timer fires once", "propagation/timers.py", "                del self._set[entry.timer]\n", "", ("test_event_timers.py",)),
    Break(
        "a watermark goes to every channel",
        "propagation/channels.py",
        "        for channel in self._channels:\n            channel.append(element)",
        "        for channel in self._channels[:1]:\n            channel.append(element)",
        ("test_network.py",),
    ),
    Break(
        "an idle output announces no watermark",
        "propagation/channels.py",
        "if self._announced is WatermarkStatus.ACTIVE:",
        "if True:",
        ("test_network.py",),
    ),
    Break(
        "an assigner drops upstream's watermarks but for MAX",
        "propagation/assigners.py",
        "        if timestamp == MAX:\n",
        "        if True:\n",
        ("test_assigners.py",),
    ),
    Break(
        "an assigner drops upstream's statuses",
        "propagation/assigners.py",
        '        """Dropped: whether this stream is idle its own generator says."""\n',
        "        self.output.emit_status(status)\n",
        ("test_assigners.py",),
    ),
    Break(
        "the end of an idle source is not lost",
        "propagation/source_task.py",
        "                if self._operator.idle:",
        "                if False:",
        ("test_source_task.py",),
    ),
    Break(
        "with two inputs event time is the minimum",
        "propagation/operators.py",
        "        if self.inputs == 1:\n",
        "        if True:\n",
        ("test_network.py", "test_broadcast_story.py"),
    ),
)
