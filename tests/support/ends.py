"""One look at where logs end, for tests that play the planner."""

from lockgate_spark.logs.kafka import KafkaSplitLog
from lockgate_spark.logs.requests import Offsets


def look(log: KafkaSplitLog, now: int, positions: Offsets, ends: Offsets) -> None:
    """Asks what a plan asks before the ends, and notes these ends, seen after `now` (ms)."""
    log.note_ends(now, positions, *log.ask_ends(lambda: ends))
